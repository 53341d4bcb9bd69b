"""The README of an exported policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .torch_state import LOADING

_USE = {
    "agent": """A blue agent for the official evaluation of CAGE Challenge 2. It needs numpy alone.

```python
from agent import BlueAgent

agent = BlueAgent()
action = agent.get_action(observation, action_space)  # 52 features; one of the 145 actions
agent.end_episode()  # after every episode: it keeps notes
```
""",
    "onnx": """`policy.onnx` turns `obs` (float32 [N, features]) into `logits` [N, actions].

```python
import onnxruntime

session = onnxruntime.InferenceSession("policy.onnx")
[logits] = session.run(["logits"], {"obs": observations})
```
""",
    "torch": f"""`policy.pt` is a state dict of tensors.

```python
{LOADING}```
""",
}


def readme(to: str, files: Sequence[str], said: Mapping[str, Any]) -> str:
    """Return what a reader must know to use and to believe an exported policy."""
    options = ", ".join(f"{name}={value}" for name, value in said["env_options"].items())
    facts = {
        "order": said["order"],
        "definition of compliance": said["definition"],
        "environment": f"{said['env']} ({options})",
        "features and actions": f"{said['features']} and {said['actions']}",
        "actions": "the most likely one" if said["greedy"] else "drawn",
        "versions": ", ".join(f"{name} {value}" for name, value in said["versions"].items()),
        "files": ", ".join(files),
    }
    scores = [
        f"| {one['red']} | {one['horizon']} | {one['return']:.2f} ± {one['half_interval']:.2f} | "
        f"{one['episodes']} |"
        for one in said["scores"]
    ]
    return "\n".join(
        [
            f"# {said['policy']}",
            "",
            _USE[to],
            *(f"* {name}: {value}" for name, value in facts.items()),
            "",
            "Mean return on fresh seeds, with a 95 % interval:",
            "",
            "| red agent | steps | return | episodes |",
            "|---|---|---|---|",
            *scores,
            "",
        ]
    )
