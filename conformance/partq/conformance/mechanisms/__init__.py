"""What belongs to one mechanism, in a folder of its name, as far as it has it:

- `steps.py`: its operations as steps of programs (`OPERATIONS`);
- `programs.py`: `PHRASES` and the `THEME` of random programs, directed ones (`CASES`), what a drain does
  about messages that no receive finds (`LEFTOVERS`);
- `reading.py`: how a history makes use of it (`USE`), and what exercises its rules (`EXERCISED`).

`partq.model.mechanisms` lists the mechanisms; the rooms before this one find these tables by their names
(`of_mechanisms`), and import none. One mechanism knows another only by what the rooms know of it.
"""
