"""Driving a broker and judging what it answered: programs, adapters, histories, screens, verdicts.

Holds every stage between a workload and a verdict, in pytest, Hypothesis and Spark size. May import
`partq.model` and `partq.spec`; only `adapters.reference` and `adapters.mutants` may touch the reference
broker, and pyspark stays under `frontends.campaign`. What a broker is allowed to do belongs to the model, not
here.
"""
