"""TLC and Apalache: where they are found (`toolbox`), how one run of each is started and read (`tlc`,
`apalache`), the values that TLC prints (`values`), and the modules that are made for them of the
specification's own text: one operator a label (`labels`), a root for Apalache (`roots`).

What is asked is the other rooms' business.
"""
