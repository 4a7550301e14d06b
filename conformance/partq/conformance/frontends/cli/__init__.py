"""The commands of ``partq``, one a module; `app` assembles them. What they share is in `common`."""
