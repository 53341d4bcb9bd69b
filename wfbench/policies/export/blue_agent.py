"""A blue agent for the official evaluation; `agent` writes its source into a file of its own.

The class uses only numpy and the classes beside it in that file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from wfbench.contract import DecoyAction, NotesModel
from wfbench.policies.notes import Notes


class BlueAgent:
    """Choose blue's actions from the 52 features of the official wrapper.

    It keeps its own notes, and forgets them at `end_episode`. Call that after every episode.
    """

    def __init__(self, folder: str | Path | None = None, seed: int | None = None) -> None:
        place = Path(folder) if folder is not None else Path(__file__).parent
        with np.load(place / "policy.npz", allow_pickle=False) as arrays:
            self._layers = [
                (arrays[f"weights.{i}"], arrays[f"biases.{i}"])
                for i in range(len(arrays.files) // 2)
            ]
        said = json.loads((place / "policy.json").read_text(encoding="utf-8"))
        self.greedy = bool(said["greedy"])
        self._rng = np.random.default_rng(seed)
        self._notes = None
        if said["notes"] is not None:
            decoys = tuple(DecoyAction(*decoy) for decoy in said["notes"].pop("decoys"))
            self._notes = Notes(NotesModel(**said["notes"], decoys=decoys))
        self._playing = False

    def get_action(self, observation: Any, action_space: Any = None) -> int:
        """Return the action for the present observation."""
        del action_space
        seen = np.asarray(observation).reshape(-1)
        if self._notes is not None:
            seen = self._notes.observe(seen) if self._playing else self._notes.begin(seen)
        self._playing = True
        logits = self.logits(seen)
        best = int(logits.argmax())
        if not self.greedy:
            odds = np.exp((logits - logits[best]).astype(np.float64))
            best = int(self._rng.choice(len(odds), p=odds / odds.sum()))
        return best if self._notes is None else self._notes.act(best)

    def logits(self, seen: Any) -> Any:
        """Return the logits for an observation with its notes."""
        values = np.asarray(seen, dtype=np.float32)
        for weights, biases in self._layers[:-1]:
            values = np.tanh(values @ weights + biases)
        weights, biases = self._layers[-1]
        return values @ weights + biases

    def end_episode(self) -> None:
        """Forget the episode."""
        self._playing = False

    def set_initial_values(self, action_space: Any, observation: Any) -> None:
        """Do nothing: the first observation comes with `get_action`."""

    def train(self, results: Any) -> None:
        """Do nothing: the policy is frozen."""
