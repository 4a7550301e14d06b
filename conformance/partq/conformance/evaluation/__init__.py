"""Programs run, judged and merged: the suite, counterexamples, diagnoses.

Puts the stages together; how results are shown is the front ends' business.
"""
