"""``python -m partq``: the command `partq`."""

import sys

from partq.conformance.frontends.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
