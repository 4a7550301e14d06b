"""Is the specification the model? The graph of each at one small scope (`pairs`), in labels and forms that
both have (`spec_side`, `model_side`, `views`), compared (`graphs`, `equivalence`).

The only folder that imports `partq.model`. It contains neither side's rules.
"""
