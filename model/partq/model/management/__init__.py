"""What clients learn of an entity as a whole, and how they change it."""
