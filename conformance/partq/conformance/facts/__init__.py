"""The facts of a history, indexed once: lifetimes, locks, outages, placements, flows over time.

`index.facts_of` makes the `Facts` of a history, from what clients can see and the events of the environment;
``facts.derive(Lifetimes)`` and the like give what is read from those. Nothing is judged here, and no
requirement is named as violated.
"""
