"""Run directories: what a run writes, so that a crash at any moment loses nothing.

A run directory holds `config.json` and `machine.json`, the append-only `events.jsonl` from which
everything else could be made again, `workflows.csv` and `updates.csv` for spreadsheets,
`checkpoints/` with one file per finished workflow, and `policy.npz` of the best order so far.
Nothing here is ever unpickled: files are JSON, CSV and plain arrays.
"""

from __future__ import annotations
