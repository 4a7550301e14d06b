"""What a peek may show, and what an observed one reveals (PEEK)."""
