"""Replays recorded episodes and compares every recorded field at every step.

A trace is an npz file of the documented layout: arrays of shape (episodes, steps, ...), with the
random outcomes of the reference beside what it did. The outcomes are fed to our rules; everything
else must come out of them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import layout as at
from .draws import DETECTION, ESCALATION, PICK, SELECT_EXPLOIT, TAPE_SIZE
from .kernel import load_replay, start_state
from .tables import NUM_ACTIONS, NUM_HOSTS, OBS_SIZE, RED_NAMES, Red

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


_HOSTS = np.arange(NUM_HOSTS)
_SUBNETS = np.arange(3)


def _single(place: int) -> Callable[[Array], Any]:
    return lambda state: state[:, place]


def _hosts(place: int) -> Callable[[Array], Any]:
    return lambda state: state[:, place : place + NUM_HOSTS]


def _host_set(place: int) -> Callable[[Array], Any]:
    return lambda state: state[:, place, None] >> _HOSTS & 1


def _subnet_set(place: int) -> Callable[[Array], Any]:
    return lambda state: state[:, place, None] >> _SUBNETS & 1


def _access(state: Array) -> Array:
    user = (_hosts(at.SUS)(state) > 0) | (_hosts(at.OTH)(state) > 0)
    return np.where(_hosts(at.ROOT)(state) > 0, 2, user)


def _only_for(red: Red, otherwise: int, read: Callable[[Array], Any]) -> Callable[[Array], Any]:
    def field(state: Array) -> Any:
        is_red = state[:, at.RED] == red
        values = read(state)
        return np.where(is_red if values.ndim == 1 else is_red[:, None], values, otherwise)

    return field


COMPARED: dict[str, Callable[[Array], Any]] = {
    "blue_success": _single(at.BLUE_SUCCESS),
    "red_type": _single(at.RED_TYPE),
    "red_host": _single(at.RED_HOST),
    "red_subnet": _single(at.RED_SUBNET),
    "red_success": _single(at.RED_SUCCESS),
    "exploit": _single(at.EXPLOIT),
    "detect": _single(at.DETECT),
    "esc_sus": _single(at.ESC_SUS),
    "priv": _access,
    "n_user_sus": _hosts(at.SUS),
    "n_user_other": _hosts(at.OTH),
    "n_root": _hosts(at.ROOT),
    "decoys": _hosts(at.DEC),
    "n_vsftpd": _hosts(at.VSFTPD),
    "malware": _host_set(at.MAL),
    "ot_stopped": _single(at.OT_STOPPED),
    "ot_active": _single(at.OT_ACTIVE),
    "ot_pid_known": _single(at.OT_PID),
    "ot_known_by_red": _single(at.OT_KNOWN),
    "red_scanned": _host_set(at.RSCAN),
    "red_ports": _hosts(at.RPORTS),
    "red_known_ip": _host_set(at.KIP),
    "red_known_host": _host_set(at.KHOST),
    "red_known_subnet": _subnet_set(at.KSUB),
    "bline_action": _only_for(Red.BLINE, -1, _single(at.BLINE_A)),
    "bline_has12": _only_for(Red.BLINE, 0, _single(at.BLINE_HAS12)),
    "mdr_scanned_ip": _host_set(at.MDR_P),
    "mdr_exploited_ip": _host_set(at.MDR_X),
    "mdr_escalated": _host_set(at.MDR_L),
    "mdr_mapped": _host_set(at.MDR_M),
    "mdr_scanned_subnet": _subnet_set(at.MDR_S),
}
"""Recorded field -> how to read it off the states of an episode."""

_HOST_FIELDS = {name for name in COMPARED if name.startswith(("mdr_", "red_known", "n_"))} | {
    "priv",
    "decoys",
    "malware",
    "red_scanned",
    "red_ports",
}
_SUBNET_FIELDS = {"red_known_subnet", "mdr_scanned_subnet"}


def _last_axis(name: str) -> tuple[int, ...]:
    if name == "obs":
        return (OBS_SIZE,)
    if name in _SUBNET_FIELDS:
        return (3,)
    return (NUM_HOSTS,) if name in _HOST_FIELDS else ()


def _read(path: Path) -> dict[str, Array]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise TraceError(f"{path}: not a readable npz file ({error})") from error


def _validate(path: Path, trace: dict[str, Array]) -> tuple[int, int]:
    needed = {"blue_action", "reward", "done", "obs", "obs_reset", *COMPARED}
    missing = sorted(needed - trace.keys())
    if missing:
        raise TraceError(f"{path}: not a trace, these arrays are missing: {', '.join(missing)}")
    actions = trace["blue_action"]
    if actions.ndim != 2 or 0 in actions.shape:
        raise TraceError(f"{path}: blue_action has shape {actions.shape}, not (episodes, steps)")
    for name in sorted(needed - {"obs_reset"}):
        shape = (*actions.shape, *_last_axis(name))
        if trace[name].shape != shape or trace[name].dtype.kind not in "iuf":
            raise TraceError(
                f"{path}: {name} is {trace[name].dtype} {trace[name].shape}, "
                f"expected numbers of shape {shape}"
            )
    if trace["obs_reset"].shape != (actions.shape[0], OBS_SIZE):
        raise TraceError(f"{path}: obs_reset has shape {trace['obs_reset'].shape}")
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
    states = np.empty((len(actions), at.STATE_SIZE), dtype=np.int16)
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
    yield from compare("draws", np.zeros(len(actions), np.int64), states[:, at.TAPE_ERROR])
    yield from compare("obs", trace["obs"][episode], obs)
    yield from compare("reward", np.rint(10 * trace["reward"][episode]).astype(np.int64), rewards)
    for name, read in COMPARED.items():
        yield from compare(name, trace[name][episode], read(states))


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
    """The traces of a folder, or one trace itself."""
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise TraceError(f"{folder}: no such folder")
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise TraceError(f"{folder}: there is no *.npz file in it")
    return files
