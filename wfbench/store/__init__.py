"""Run directories: files that a crash at any moment leaves readable.

A run directory holds `config.json` and `machine.json`, the append-only `events.jsonl` from which
everything else can be rebuilt, `workflows.csv` and `updates.csv` for spreadsheets,
`checkpoints/` with one file per finished workflow, and `policy.npz` of the best order so far.
Nothing here is ever unpickled: files are JSON, CSV and plain arrays.
"""

from __future__ import annotations
