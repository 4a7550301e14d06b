"""The directed cases: what one is, and what its steps are written with; `table` has them all.

A case says which requirements it exercises and builds a program for a profile; what the broker should
answer is the screens' business, not the case's. Each stands with its mechanism, in `CASES` of its `programs`.
"""
