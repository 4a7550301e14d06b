"""Does the specification hold? The manifest's questions, put to TLC (`checks`) and to Apalache (`symbolic`),
the answers compared with it; and which property and which checks stand behind a requirement (`properties`).

No wrong variant and no bound is said here: they are the modules' and configurations' own (`tla/`).
"""
