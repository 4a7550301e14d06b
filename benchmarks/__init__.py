"""Side-by-side measurements, one command: ``make bench``. No test depends on a time taken here."""
