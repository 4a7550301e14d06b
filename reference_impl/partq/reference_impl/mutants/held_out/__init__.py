"""The mutants that are set aside: their histories measure blame, and nobody looks at them while it is built.

They are written from the catalogue alone, without a look at model and judge. Once looked at they are used up:
they become mutants like the others, one level up, and new ones are written.
"""
