"""Campaigns: very many traces on Spark.

`plan` cuts the work into chunks, `work` does one chunk (no Spark in either), `spark` spreads chunks over
executors, `store` is the output folder. pyspark is imported under this package only.
"""
