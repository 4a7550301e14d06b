"""What screens, judge and blame said of some thousands of histories, frozen as data, so that a change of any
of them shows every verdict that it changes.

Histories are kept as they were recorded, as the broker that made them may change, too. What is said of them
is in rules, causes and statuses alone. Where the judge may give up, nodes count and not seconds.
"""
