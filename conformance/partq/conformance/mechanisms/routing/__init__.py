"""The partition that stores a message: by its key (KEY), and while some are down (ROUTE)."""
