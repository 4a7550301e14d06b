"""The suite's parts of each mechanism, in a folder of its name, each if the mechanism has it:

- `steps.py`: its operations as steps of programs (`OPERATIONS`);
- `programs.py`: `PHRASES` and the `THEME` of random programs, directed ones (`CASES`), and the drain's way to
  messages that no receive finds (`LEFTOVERS`);
- `reading.py`: how a history uses the mechanism (`USE`), and what exercises its rules (`EXERCISED`).

`partq.model.mechanisms` lists the mechanisms; other packages find these tables by name (`of_mechanisms`) and
import none. No mechanism imports another.
"""
