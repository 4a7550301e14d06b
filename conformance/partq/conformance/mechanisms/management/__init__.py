"""Management of entities."""
