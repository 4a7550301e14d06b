"""Does the specification hold? Puts the manifest's questions to TLC (`checks`) and Apalache (`symbolic`) and
compares the answers with it; lists the property and the checks of each requirement (`properties`).

The modules and configurations (`tla/`) define the wrong variants and the bounds.
"""
