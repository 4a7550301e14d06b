"""The `partq` command."""

import sys


def main() -> int:
    """Print the usage."""
    sys.stdout.write("usage: partq COMMAND …\n")
    return 0
