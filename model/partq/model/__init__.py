"""The executable model: messages, operations, profiles, requirements and `steps`.

Pure and immutable: standard library only (networkx in `charts`), no I/O but reading the
catalogue that is shipped beside the code, and what `explore` prints when it is run as a program; no clock, no
randomness. What
a broker does over a wire, how a history is recorded or checked, and anything that imports another `partq`
package does not belong here.
"""
