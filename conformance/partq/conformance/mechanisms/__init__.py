"""What belongs to one mechanism, in a folder of its name: `steps.py` (its operations as steps of programs),
`programs.py` (phrases, and the theme of random programs), `cases.py` (directed programs), `leftovers.py`
(what the drain does so that nothing of it is left), `reading.py` (what a history shows of it: whether
one makes use of it, and where it is not judged), `exercised.py` (what counts its rules as exercised), as
far as it has them.

`partq.model.mechanisms` lists the mechanisms; the rooms before this one find these modules by their names,
and import none. One mechanism knows another only by what the rooms know of it.
"""
