"""What clients will do: programs, their steps as operations, generator, shrinking, tours, directed cases.

No broker is driven here, and what a broker should answer is not known here.
"""
