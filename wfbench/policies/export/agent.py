"""Write a policy as a folder with one Python file that needs numpy alone."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from wfbench.contract import DecoyAction, NotesModel
from wfbench.policies.notes import Notes

from .blue_agent import BlueAgent
from .layers import Exported

_HEAD = '''"""A blue agent for CAGE Challenge 2, exported from wfbench. It needs numpy alone.

    from agent import BlueAgent
    agent = BlueAgent()
    action = agent.get_action(observation, action_space)
    agent.end_episode()

policy.json says where it comes from; policy.npz has its weights.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
'''


def write_agent(folder: Path, exported: Exported, said: dict[str, Any]) -> list[str]:
    """Write agent.py, policy.npz and policy.json."""
    parts = [inspect.getsource(kind) for kind in (DecoyAction, NotesModel, Notes, BlueAgent)]
    (folder / "agent.py").write_text("\n\n".join([_HEAD, *parts]), encoding="utf-8")
    arrays: dict[str, Any] = {}
    for number, (weights, biases) in enumerate(exported.layers):
        arrays |= {f"weights.{number}": weights, f"biases.{number}": biases}
    np.savez(folder / "policy.npz", **arrays)
    notes = None if exported.notes is None else asdict(exported.notes)
    values = {**said, "greedy": exported.greedy, "notes": notes}
    (folder / "policy.json").write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return ["agent.py", "policy.npz", "policy.json"]
