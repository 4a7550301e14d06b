"""What a history shows, indexed once: lifetimes, locks, outages, placements, flows over time.

`index` is the entry: `facts_of` makes the `Facts` of a history. Only what clients can see, plus the events of
the environment. Nothing is judged here and no requirement is named as violated.
"""
