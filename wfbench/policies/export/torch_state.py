"""Write a policy as the state dict of a `torch.nn.Sequential`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .layers import Exported

LOADING = """import torch

state = torch.load("policy.pt", weights_only=True)
layers = []
for number in range(0, len(state), 2):
    outputs, inputs = state[f"{number}.weight"].shape
    layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
model = torch.nn.Sequential(*layers[:-1])
model.load_state_dict(state)
logits = model(observations)  # float32 [N, features]
"""


def write_torch(folder: Path, exported: Exported, said: dict[str, Any]) -> list[str]:
    """Write policy.pt, which holds tensors only."""
    del said
    import torch

    state = {}
    for number, (weights, biases) in enumerate(exported.layers):
        state[f"{2 * number}.weight"] = torch.from_numpy(weights.T.copy())
        state[f"{2 * number}.bias"] = torch.from_numpy(biases.copy())
    torch.save(state, folder / "policy.pt")
    return ["policy.pt"]
