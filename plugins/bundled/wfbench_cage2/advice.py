"""What a stored policy would do, for a person who plays blue."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Policy, PolicySnapshot, UsageError
from wfbench.orders import format_order, parse_order
from wfbench.orders.codes import OrderCode

from .rules_blue import concrete_action
from .tables import UNIT_NAMES
from .workflow import form

_SCHEMA = "wfbench/policy/1"
_OURS = "wfbench.policies:"
"""Where the code comes from that restores a policy. Other code is never run: a file may come from
a stranger."""


@dataclass(frozen=True)
class Advisor:
    """A policy, and how it sees the environment."""

    policy: Policy
    order: str
    """The order that it follows."""
    memory: bool
    history: bool
    """Whether it needs the features of `memory` and of `history`."""
    actions: NDArray[np.int64]
    """What its actions mean: one of the 145, or a decoy macro."""
    code: NDArray[np.uint8]
    """The bits that tell it the order; none if it follows one only."""

    def advise(self, obs: NDArray[np.uint8], state: NDArray[np.int16]) -> int:
        """Return which of the 145 actions the policy finds most likely to be right."""
        row = np.concatenate([obs, self.code])[np.newaxis]
        chosen = int(self.policy.act(row, np.full(1, 0.5)).actions[0])
        return int(concrete_action(state, int(self.actions[chosen])))


def load_advisor(path: Path, order: str | None = None) -> Advisor:
    """Read a policy of this environment; raise UsageError that says why it cannot advise.

    `path` is a policy.npz, or a run that has one.
    """
    path = path / "policy.npz" if path.is_dir() else path
    arrays, meta = _read(path)
    restore = str(meta.get("restore"))
    if not restore.startswith(_OURS):
        raise UsageError(f"{path} is restored by {restore}, which is not wfbench's own code")
    try:
        own, options = tuple(meta["order"]), dict(meta["env_options"])
        units, shape = tuple(meta["units"]), tuple(meta["obs_shape"])
        memory, history = bool(options["memory"]), bool(options.get("history"))
        info, actions = form(memory, str(options["actions"]), history)
        followed = _followed(path, own, order)
        shown = bool(options.get("orders"))
        kind = OrderCode(str(options["order_code"]), len(units)) if shown else None
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is not a policy of cage2: {error!r}") from error
    code = np.zeros(0, dtype=np.uint8) if kind is None else kind.encode(followed)
    seen = (info.obs_shape[0] + len(code),)
    if (units, shape, meta.get("num_actions")) != (UNIT_NAMES, seen, info.num_actions):
        raise UsageError(f"{path} is a policy of {meta.get('env')}, which cage2 does not fit")
    policy = PolicySnapshot(restore, int(meta.get("version", 0)), arrays).policy()
    sharpen = getattr(policy, "greedy", None)
    written = format_order(followed, UNIT_NAMES)
    best = policy if sharpen is None else sharpen()
    return Advisor(best, written, memory, history, actions, code)


def _followed(path: Path, own: tuple[int, ...], order: str | None) -> tuple[int, ...]:
    """Return the order that the policy is to follow."""
    wanted = None if order is None else parse_order(order, UNIT_NAMES)
    if not own and wanted is None:
        raise UsageError(f"{path} follows any order; choose one, such as --order SEUHD")
    if own and wanted not in (None, own):
        raise UsageError(f"{path} follows {format_order(own, UNIT_NAMES)} only; leave --order out")
    return own or wanted or ()


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays of a policy file and what it says of them. Run no code from it."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
        meta = json.loads(bytes(arrays.pop("meta")))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # numpy and zipfile raise many kinds for damaged files
        raise UsageError(f"{path} is damaged, or not a policy of wfbench") from error
    if not isinstance(meta, dict) or meta.get("schema") != _SCHEMA:
        raise UsageError(f"{path} is not a policy of wfbench")
    return arrays, meta
