"""The commands of ``partq``, one a module; `cli.py` assembles them. What they share is in `common`."""
