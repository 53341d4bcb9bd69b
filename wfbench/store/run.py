"""The files of one search: created, appended to, reopened after a crash, and removed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Self

import numpy as np

from wfbench.contract import Arrays, UsageError

from . import policy_file
from .config import StoredConfig, read_config, search_paths
from .event_log import EventLog, json_line, plain, read_lines
from .events import (
    EventDecoder,
    LogEntry,
    RunFinished,
    UpdateFinished,
    Values,
    WorkflowFinished,
    encode,
)
from .files import TORN, write_json, write_whole, writing
from .lock import RunLock
from .machine import fingerprint
from .places import SEARCH_CONFIGS, run_kind
from .policy_file import Checkpoint, StoredPolicy
from .sweeps import Sweep, write_sweeps
from .table import UPDATE_COLUMNS, WORKFLOW_COLUMNS, CsvTable, EventRows, event_row, stat_columns

EVENTS_FILE = "events.jsonl"
SPECIAL_FOLDER = "policies"
"""Where the policies that were specialised for an order are kept."""
_STATES, _STATE_BYTES = 32, 1 << 20
"""How many states of trainers are held in memory, too, and how large one may be for that."""


class RunStore:
    """The files of one search. Holds the run's lock until it is closed."""

    def __init__(self, path: Path, config: StoredConfig) -> None:
        self.path = path
        self.config = config
        self.entries: list[LogEntry] = []
        """Everything that was recorded; what an unfinished workflow left is not resumed."""
        self._lock = RunLock(path)
        self._log: EventLog | None = None
        self._rows = EventRows()
        self._states: dict[int, Arrays] = {}
        self._updates = CsvTable(path / "updates.csv", "updates/2", UPDATE_COLUMNS)
        self._workflows = CsvTable(path / "workflows.csv", "workflows/2", WORKFLOW_COLUMNS)

    @property
    def id(self) -> str:
        """Return the name of the run."""
        return self.config.run

    @property
    def finished(self) -> bool:
        """Tell whether the search came to its end."""
        return bool(self.entries) and isinstance(self.entries[-1].event, RunFinished)

    @classmethod
    def create(cls, path: Path, config: StoredConfig) -> Self:
        """Make a new run directory, which must not exist yet."""
        with writing(path):
            try:
                (path / "checkpoints").mkdir(parents=True)
            except FileExistsError as error:
                hint = "choose another --name, or resume it with --resume"
                raise UsageError(f"{path} already exists; {hint}") from error
        with ExitStack() as on_failure:
            store = cls(path, config)
            on_failure.callback(store.close)
            write_json(path / "machine.json", "machine/1", fingerprint())
            write_json(path / "config.json", SEARCH_CONFIGS[0], asdict(config))
            store._rewrite()
            on_failure.pop_all()
        return store

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Open an existing run directory and discard what an unfinished workflow left."""
        with ExitStack() as on_failure:
            store = cls(path, read_config(path))
            on_failure.callback(store.close)
            store.entries = read_log(path)
            if not store.finished:
                store._discard_unfinished()
                store._rewrite()
            on_failure.pop_all()
        return store

    def record(self, entry: LogEntry) -> Values:
        """Append an entry and return its JSON values; finished workflows are synced to disk."""
        if self._log is None:
            raise ValueError("the run is closed")
        values: Values = plain(encode(entry, self.config.units))
        self.entries.append(entry)
        self._log.append(values)
        if isinstance(entry.event, (WorkflowFinished, RunFinished)):
            self._log.sync()
        row = self._rows.row(values)
        if isinstance(entry.event, UpdateFinished):
            if set(stat_columns([row])) <= set(self._updates.columns):
                self._updates.append(row)
            else:
                self._rewrite_updates([encode(one, self.config.units) for one in self.entries])
        elif isinstance(entry.event, WorkflowFinished):
            self._workflows.append(row)
        return values

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep what later workflows and a resumed run need."""
        policy_file.write_checkpoint(checkpoint_path(self.path, checkpoint.workflow), checkpoint)
        state = _copied(checkpoint.trainer)
        if sum(array.nbytes for array in state.values()) <= _STATE_BYTES:
            self._states[checkpoint.workflow] = state
        if len(self._states) > _STATES:
            del self._states[next(iter(self._states))]

    def load_checkpoint(self, workflow: int) -> Checkpoint:
        """Return what `save_checkpoint` kept."""
        return policy_file.read_checkpoint(checkpoint_path(self.path, workflow))

    def trainer_state(self, workflow: int) -> Arrays:
        """Return the trainer's state of a checkpoint, in arrays that the caller may change."""
        state = self._states.get(workflow)
        return self.load_checkpoint(workflow).trainer if state is None else _copied(state)

    def save_sweeps(self, workflow: int, sweeps: Mapping[str, Sweep]) -> None:
        """Keep how the policy of a workflow did under each order."""
        write_sweeps(self._within(sweep_path(self.path, workflow)), sweeps)

    def save_policy(self, order: str, policy: StoredPolicy) -> None:
        """Keep the policy that was specialised for an order."""
        policy_file.write_policy(self._within(special_path(self.path, order)), policy)

    def save_best(self, policy: StoredPolicy) -> None:
        """Make this the policy of the run."""
        policy_file.write_policy(self.path / "policy.npz", policy)

    def best_workflow(self) -> int | None:
        """Return the workflow whose policy `policy.npz` holds."""
        path = self.path / "policy.npz"
        return policy_file.read_policy(path).label.workflow if path.exists() else None

    def close(self) -> None:
        """Release files and lock; safe to call twice."""
        for part in (self._log, self._updates, self._workflows):
            if part is not None:
                part.close()
        self._log = None
        self._lock.release()

    def _within(self, path: Path) -> Path:
        """Return the path after making its folder."""
        with writing(path.parent):
            path.parent.mkdir(exist_ok=True)
        return path

    def _discard_unfinished(self) -> None:
        for torn in self.path.rglob(TORN):
            with writing(torn):
                torn.unlink()
        ends = [i for i, e in enumerate(self.entries) if isinstance(e.event, WorkflowFinished)]
        del self.entries[ends[-1] + 1 if ends else 1 :]

    def _rewrite(self) -> None:
        """Write everything that is kept of the log, in today's schema, and open it for more."""
        events = [plain(encode(entry, self.config.units)) for entry in self.entries]
        write_whole(self.path / EVENTS_FILE, b"".join(map(json_line, events)))
        rows = [self._rows.row(values) for values in events]
        self._workflows.rewrite(row for row in rows if row["event"] == WorkflowFinished.kind)
        self._rewrite_updates(events)
        self._log = EventLog(self.path / EVENTS_FILE)

    def _rewrite_updates(self, events: list[Values]) -> None:
        """Write all updates again, with a column for each statistic known by now."""
        rows = [event_row(values) for values in events if values["event"] == UpdateFinished.kind]
        self._updates.columns = (*UPDATE_COLUMNS, *stat_columns(rows))
        self._updates.rewrite(rows)


def read_log(path: Path) -> list[LogEntry]:
    """Return every whole event of a run directory."""
    file, decoder = path / EVENTS_FILE, EventDecoder()
    return [
        decoder.decode(values, f"{file}, line {number}")
        for number, values in enumerate(read_lines(file), start=1)
    ]


def _copied(state: Arrays) -> Arrays:
    """Return arrays of their own, as a file would give them."""
    return {name: np.array(array) for name, array in state.items()}


def checkpoint_path(path: Path, workflow: int) -> Path:
    """Return where the checkpoint of a workflow is kept."""
    return path / "checkpoints" / f"{workflow:03d}.npz"


def special_path(path: Path, order: str) -> Path:
    """Return where the policy that was specialised for an order is kept."""
    return path / SPECIAL_FOLDER / f"{order.replace('>', '')}.npz"


def sweep_path(path: Path, workflow: int) -> Path:
    """Return where the evaluations of a workflow's policy are kept."""
    return path / "sweeps" / f"{workflow:03d}.npz"


def remove_run(path: Path) -> None:
    """Remove a run's directory with everything in it; refused while a process has it open.

    It is renamed first, so that nobody finds half a run.
    """
    if path.is_symlink():
        raise UsageError(f"{path} is a link; remove the run it points to, or the link by hand")
    with ExitStack() as stack:
        run_kind(path)  # refuses what is not a run
        for part in filter(Path.is_dir, search_paths(path)):
            stack.callback(RunLock(part).release)
        gone = path.with_name(f".{path.name}.removed")
        with writing(path):
            path.rename(gone)
            shutil.rmtree(gone)


def files_of(path: Path) -> dict[str, int]:
    """Return the files of a run with their sizes in bytes."""
    found = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {str(file.relative_to(path)): file.stat().st_size for file in found}
