"""Replay recorded episodes and compare every recorded field at every step.

A trace is an npz file of the documented layout: arrays of shape (episodes, steps, ...) with the
random outcomes of the original simulator and everything it did. Our rules get the outcomes and
must reproduce the rest.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kernel import load_replay, start_state
from .layout import AT, STATE_SIZE, read_field
from .tables import NUM_ACTIONS, OBS_SIZE, RED_NAMES, Red

Array = NDArray[Any]


class TraceError(Exception):
    """A trace that cannot be read or is not of the documented layout."""


class Mismatch(NamedTuple):
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


class Replayed(NamedTuple):
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

_TAPE = ("red_host", "exploit", "detect", "esc_sus")
"""Recorded fields that are the outcomes of a tape, in the order of their purposes."""

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


def _play(red: Red, recorded: dict[str, Array]) -> dict[str, Array]:
    """Play a recorded episode and return what must equal its fields."""
    replay = load_replay()
    state, obs_reset = start_state(red)
    tape = np.stack([recorded[name] for name in _TAPE], axis=1).astype(np.int8)
    steps = len(tape)
    states = np.empty((steps, STATE_SIZE), dtype=np.int16)
    obs = np.empty((steps, OBS_SIZE), dtype=np.uint8)
    rewards = np.empty(steps, dtype=np.int64)
    for t, action in enumerate(recorded["blue_action"]):
        rewards[t] = replay(state, int(action), tape[t], obs[t])
        states[t] = state
    played = {
        "obs_reset": obs_reset[None],
        "done": (np.arange(steps) == steps - 1).astype(np.int64),
        "draws": states[:, AT.tape_error],
        "obs": obs,
        "reward": rewards,
    }
    return played | _compared(states)


def _mismatches(path: Path, trace: dict[str, Array], red: Red, episode: int) -> Iterator[Mismatch]:
    recorded = {name: array[episode] for name, array in trace.items()}
    recorded["reward"] = np.rint(10 * recorded["reward"]).astype(np.int64)
    recorded["draws"] = np.zeros_like(recorded["blue_action"])
    recorded["obs_reset"] = recorded["obs_reset"][None]
    for name, got in _play(red, recorded).items():
        expected = recorded[name]
        first = -1 if name == "obs_reset" else 0
        for t in np.flatnonzero((expected != got).reshape(len(got), -1).any(axis=1)):
            values = expected[t].tolist(), got[t].tolist()
            yield Mismatch(path.name, episode, first + int(t), name, *values)


def replay_file(path: Path) -> Replayed:
    """Replay every episode of one file."""
    red = _red_of(path)
    trace = _read(path)
    episodes, steps = _validate(path, trace)
    found = [m for episode in range(episodes) for m in _mismatches(path, trace, red, episode)]
    first = min(found, key=lambda mismatch: (mismatch.episode, mismatch.step), default=None)
    return Replayed(path.name, episodes, episodes * steps, len(found), first)


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
