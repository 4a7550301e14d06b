"""Time to live: what is over is not delivered (RCV-15)."""
