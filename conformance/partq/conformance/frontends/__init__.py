"""Who calls all this: the command line, pytest, Hypothesis and Spark.

Arguments, output and parallelism; nothing is judged here.
"""
