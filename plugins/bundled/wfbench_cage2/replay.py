"""Replay recorded episodes and compare every recorded field at every step.

A trace is an npz file of the documented layout: arrays of shape (episodes, steps, ...) with the
random outcomes of the original simulator and everything it did. Our rules get the outcomes and
must reproduce the rest.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .draws import DETECTION, ESCALATION, PICK, SELECT_EXPLOIT, TAPE_SIZE
from .kernel import load_replay, start_state
from .layout import AT, STATE_SIZE, read_field
from .tables import NUM_ACTIONS, OBS_SIZE, RED_NAMES, Red

Array = NDArray[Any]


class TraceError(Exception):
    """A trace that cannot be read or is not of the documented layout."""


@dataclass(frozen=True)
class Mismatch:
    """One recorded field that came out differently."""

    file: str
    episode: int
    step: int
    field: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        return (
            f"{self.file}: episode {self.episode}, step {self.step}, field {self.field}: "
            f"expected {self.expected}, got {self.got}"
        )


@dataclass(frozen=True)
class Replayed:
    """The outcome of replaying one file."""

    file: str
    episodes: int
    steps: int
    mismatches: int
    first: Mismatch | None


_SAME_NAME = (
    *("blue_success", "red_type", "red_host", "red_subnet", "red_success"),
    *("exploit", "detect", "esc_sus", "ot_stopped", "ot_active"),
)
RECORDED = {name: name for name in _SAME_NAME} | {
    "n_user_sus": "sus",
    "n_user_other": "oth",
    "n_root": "root",
    "decoys": "dec",
    "n_vsftpd": "vsftpd",
    "malware": "mal",
    "ot_pid_known": "ot_pid",
    "ot_known_by_red": "ot_known",
    "red_scanned": "rscan",
    "red_ports": "rports",
    "red_known_ip": "kip",
    "red_known_host": "khost",
    "red_known_subnet": "ksub",
    "bline_action": "bline_a",
    "bline_has12": "bline_has12",
    "mdr_scanned_ip": "mdr_p",
    "mdr_exploited_ip": "mdr_x",
    "mdr_escalated": "mdr_l",
    "mdr_mapped": "mdr_m",
    "mdr_scanned_subnet": "mdr_s",
}
"""Recorded field -> field of the state. `priv` is derived from three of them."""

_WITHOUT_BLINE = {"bline_action": -1, "bline_has12": 0}
"""What is recorded of B_line's plan in episodes of other red agents."""


def _compared(states: Array) -> dict[str, Array]:
    """Return what must equal the recorded fields, for the states of an episode."""
    found: dict[str, Array] = {name: read_field(states, ours) for name, ours in RECORDED.items()}
    for name, otherwise in _WITHOUT_BLINE.items():
        found[name] = np.where(states[:, AT.red] == Red.BLINE, found[name], otherwise)
    user = (found["n_user_sus"] > 0) | (found["n_user_other"] > 0)
    return found | {"priv": np.where(found["n_root"] > 0, 2, user)}


_SHAPES = {
    name: array.shape[1:] for name, array in _compared(np.zeros((1, STATE_SIZE), np.int16)).items()
}
_SHAPES |= {"blue_action": (), "reward": (), "done": (), "obs": (OBS_SIZE,)}


def _read(path: Path) -> dict[str, Array]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise TraceError(f"{path}: not a readable npz file ({error})") from error


def _validate(path: Path, trace: dict[str, Array]) -> tuple[int, int]:
    missing = sorted({"obs_reset", *_SHAPES} - trace.keys())
    if missing:
        raise TraceError(f"{path}: not a trace, these arrays are missing: {', '.join(missing)}")
    actions = trace["blue_action"]
    if actions.ndim != 2 or 0 in actions.shape:
        raise TraceError(f"{path}: blue_action has shape {actions.shape}, not (episodes, steps)")
    shapes = {name: (*actions.shape, *rest) for name, rest in sorted(_SHAPES.items())}
    shapes["obs_reset"] = (actions.shape[0], OBS_SIZE)
    for name, shape in shapes.items():
        if trace[name].shape != shape or trace[name].dtype.kind not in "iuf":
            raise TraceError(
                f"{path}: {name} is {trace[name].dtype} {trace[name].shape}, "
                f"expected numbers of shape {shape}"
            )
    if actions.min() < 0 or actions.max() >= NUM_ACTIONS:
        raise TraceError(f"{path}: blue_action has values outside 0..{NUM_ACTIONS - 1}")
    return int(actions.shape[0]), int(actions.shape[1])


def _red_of(path: Path) -> Red:
    name = path.name.split("__")[0]
    if name not in RED_NAMES:
        raise TraceError(
            f"{path}: the file name must start with a red agent and two underscores, "
            f"one of {', '.join(f'{red}__' for red in RED_NAMES)}"
        )
    return Red(RED_NAMES.index(name))


def _tape(trace: dict[str, Array], episode: int) -> NDArray[np.int8]:
    steps = trace["blue_action"].shape[1]
    tape = np.empty((steps, TAPE_SIZE), dtype=np.int8)
    tape[:, PICK] = trace["red_host"][episode]
    tape[:, SELECT_EXPLOIT] = trace["exploit"][episode]
    tape[:, DETECTION] = trace["detect"][episode]
    tape[:, ESCALATION] = trace["esc_sus"][episode]
    return tape


def _play(
    red: Red, actions: Array, tape: NDArray[np.int8]
) -> tuple[NDArray[np.int16], NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8]]:
    replay = load_replay()
    state, obs_reset = start_state(red)
    states = np.empty((len(actions), STATE_SIZE), dtype=np.int16)
    obs = np.empty((len(actions), OBS_SIZE), dtype=np.uint8)
    rewards = np.empty(len(actions), dtype=np.int64)
    for t, action in enumerate(actions):
        rewards[t] = replay(state, int(action), tape[t], obs[t])
        states[t] = state
    return states, obs, rewards, obs_reset


def _mismatches(path: Path, trace: dict[str, Array], red: Red, episode: int) -> Iterator[Mismatch]:
    def compare(field: str, expected: Array, got: Array) -> Iterator[Mismatch]:
        differs = np.asarray(expected != got).reshape(len(expected), -1).any(axis=1)
        for t in np.flatnonzero(differs):
            yield Mismatch(path.name, episode, int(t), field, expected[t].tolist(), got[t].tolist())

    actions = trace["blue_action"][episode]
    states, obs, rewards, obs_reset = _play(red, actions, _tape(trace, episode))
    if (trace["obs_reset"][episode] != obs_reset).any():
        recorded = trace["obs_reset"][episode].tolist()
        yield Mismatch(path.name, episode, -1, "obs_reset", recorded, obs_reset.tolist())
    done = np.zeros(len(actions), dtype=np.int64)
    done[-1] = 1
    yield from compare("done", trace["done"][episode], done)
    yield from compare("draws", np.zeros(len(actions), np.int64), states[:, AT.tape_error])
    yield from compare("obs", trace["obs"][episode], obs)
    yield from compare("reward", np.rint(10 * trace["reward"][episode]).astype(np.int64), rewards)
    for name, found in _compared(states).items():
        yield from compare(name, trace[name][episode], found)


def replay_file(path: Path) -> Replayed:
    """Replay every episode of one file."""
    red = _red_of(path)
    trace = _read(path)
    episodes, steps = _validate(path, trace)
    count = 0
    first: Mismatch | None = None
    for episode in range(episodes):
        for mismatch in _mismatches(path, trace, red, episode):
            count += 1
            if first is None or (mismatch.episode, mismatch.step) < (first.episode, first.step):
                first = mismatch
    return Replayed(path.name, episodes, episodes * steps, count, first)


def trace_files(folder: Path) -> list[Path]:
    """Return the traces of a folder, or the one trace given."""
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise TraceError(f"{folder}: no such folder")
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise TraceError(f"{folder}: there is no *.npz file in it")
    return files
