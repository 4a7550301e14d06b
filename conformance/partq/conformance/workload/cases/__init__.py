"""The directed cases, one requirement group a file; `table` has them all.

A case says which requirements it exercises and builds a program for a profile; what the broker should
answer is the screens' business, not the case's.
"""
