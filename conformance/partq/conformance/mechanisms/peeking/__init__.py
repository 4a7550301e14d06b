"""What a peek may show, and what one that was seen tells (PEEK)."""
