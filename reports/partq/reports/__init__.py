"""From verdicts to something read by people or machines: view data, HTML, plots.

Renders what is already decided: it may import `partq.model` and the history and verdict modules of
`partq.conformance`, never runs a broker and never judges anything itself.
"""
