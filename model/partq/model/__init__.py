"""The executable model: messages, operations, profiles, requirements and `steps`.

Pure and immutable: standard library only (networkx in `charts`), no clock, no randomness, and no I/O except
reading the catalogue beside the code and what `explore` prints as a program. Wire protocols, recording and
checking of histories, and imports of other `partq` packages do not belong here.
"""
