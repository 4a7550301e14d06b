"""Topics: each subscription receives copies of what its rule matches (TOPIC)."""
