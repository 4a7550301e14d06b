"""The pytest entry point of partq: options and fixtures, thin and lazy.

Nothing heavy may be imported at module level: every pytest run on the machine loads this module.
"""
