"""Which partition stores a message: by its key (KEY), and what is sent while one is down (ROUTE)."""
