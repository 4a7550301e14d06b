"""What happened: the record of a run, its codecs (NDJSON, Parquet) and its terse notation.

The seam of the project: `History`, `Header` and `Record` are all that is seen of a broker from here on.
Nothing here runs a broker or judges an answer.
"""

from __future__ import annotations

from partq.conformance.history.record import LIVE_LATENESS, SCHEMA, TIMES, Header, History, Record, time_text

__all__ = ["LIVE_LATENESS", "SCHEMA", "TIMES", "Header", "History", "Record", "time_text"]
