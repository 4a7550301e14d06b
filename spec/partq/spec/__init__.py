"""The TLA+ side: the specification (`tla/`), and the programs that use it.

`tools/` runs TLC and Apalache and reads their output; each other folder answers one question with them: does
the specification hold (`checking/`), is it the model's graph (`comparison/`), does it explain what was
recorded (`validation/`), what may happen (`simulation/`).

It is tied to `partq.model`, the only package of ours that it may import. Brokers, histories and anything a
conformance run needs do not belong here; the specification itself takes nothing from Python.
"""

from pathlib import Path
from typing import Final

MODULES: Final = Path(__file__).with_name("tla")
