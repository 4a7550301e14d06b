"""All histories of small scopes: where the judge and the screens disagree.

`comparison` compares, `scopes` and `flow_scopes` say which histories, `blind_spots` lists what screens leave
open.
"""
