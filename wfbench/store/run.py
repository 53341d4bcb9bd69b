"""One run's directory: created, appended to, and taken up again after a crash."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from wfbench.contract import UsageError

from .checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from .columns import UPDATE_COLUMNS, WORKFLOW_COLUMNS
from .event_log import EventLog, Values, keep_until, read_events
from .files import TORN, read_json, write_json, writing
from .lock import RunLock
from .machine import fingerprint
from .places import SEARCH_CONFIG, run_kind
from .policy_file import StoredPolicy, read_policy, write_policy
from .table import Table

_DONE = "workflow-finished"


class RunStore:
    """The files of one run. Holds the run's lock until it is closed."""

    def __init__(self, path: Path, lock: RunLock, config: Mapping[str, Any]) -> None:
        self.path = path
        self.config = config
        self.events: list[Values] = []
        """What had happened before this process took over: all of finished workflows."""
        self.finished = False
        self._lock = lock
        self._log: EventLog | None = None
        self._updates = Table(path / "updates.csv", "updates/1", UPDATE_COLUMNS)
        self._workflows = Table(path / "workflows.csv", "workflows/1", WORKFLOW_COLUMNS)

    @property
    def id(self) -> str:
        """The name of the run."""
        return str(self.config["run"])

    @classmethod
    def create(cls, path: Path, config: Mapping[str, Any]) -> Self:
        """A new run directory, which must not exist yet."""
        with writing(path):
            try:
                (path / "checkpoints").mkdir(parents=True)
            except FileExistsError as error:
                raise UsageError(
                    f"{path} already exists; choose another --name, or go on with --resume"
                ) from error
        lock = RunLock(path)
        try:
            write_json(path / "machine.json", "machine/1", fingerprint())
            write_json(path / "config.json", SEARCH_CONFIG, config)
            store = cls(path, lock, config)
            store._begin()
        except BaseException:
            lock.release()
            raise
        return store

    @classmethod
    def resume(cls, path: Path) -> Self:
        """An existing run directory; what an unfinished workflow left is cut off."""
        config = read_config(path)
        lock = RunLock(path)
        try:
            store = cls(path, lock, config)
            store._take_up()
        except BaseException:
            lock.release()
            raise
        return store

    def record(self, event: Values) -> None:
        """Append an event; the end of a workflow is on the disk when this returns."""
        if self._log is None:
            raise ValueError("the run is closed")
        self._log.append(event)
        if event["event"] == "update":
            self._updates.append(event_row(event))
        elif event["event"] == _DONE:
            self._log.sync()
            self._workflows.append(event_row(event))
        elif event["event"] == "run-finished":
            self._log.sync()

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep what later workflows and a resumed run need."""
        write_checkpoint(self._checkpoint_path(checkpoint.workflow), checkpoint)

    def load_checkpoint(self, workflow: int) -> Checkpoint:
        """What `save_checkpoint` kept."""
        return read_checkpoint(self._checkpoint_path(workflow))

    def save_best(self, policy: StoredPolicy) -> None:
        """Make this the policy of the run."""
        write_policy(self.path / "policy.npz", policy)

    def best_workflow(self) -> int | None:
        """The workflow whose policy `policy.npz` holds."""
        path = self.path / "policy.npz"
        return read_policy(path).label.workflow if path.exists() else None

    def close(self) -> None:
        """Release files and lock; safe to call twice."""
        for part in (self._log, self._updates, self._workflows):
            if part is not None:
                part.close()
        self._log = None
        self._lock.release()

    def _begin(self) -> None:
        self._updates.rewrite(())
        self._workflows.rewrite(())
        self._log = EventLog(self.path / "events.jsonl")

    def _take_up(self) -> None:
        path = self.path / "events.jsonl"
        self.events = read_events(path)
        self.finished = bool(self.events) and self.events[-1]["event"] == "run-finished"
        if self.finished:
            return
        for torn in (*self.path.glob(TORN), *(self.path / "checkpoints").glob(TORN)):
            with writing(torn):
                torn.unlink()
        self.events = keep_until(path, _DONE)
        self._updates.rewrite(event_row(e) for e in self.events if e["event"] == "update")
        self._workflows.rewrite(event_row(e) for e in self.events if e["event"] == _DONE)
        self._log = EventLog(path)

    def _checkpoint_path(self, workflow: int) -> Path:
        return self.path / "checkpoints" / f"{workflow:03d}.npz"


def read_config(path: Path) -> dict[str, Any]:
    """The configuration a run was started with."""
    if run_kind(path) == "bench":
        raise UsageError(
            f"{path} holds what `wfbench bench` measured, which is no search and is not resumed; "
            "a search is started with `wfbench run`"
        )
    return read_json(path / "config.json", SEARCH_CONFIG)


def event_row(event: Values) -> Values:
    """An event as the row of a CSV file."""
    time = dict(event["time"])
    return {**event, "at": time.pop("at"), **{f"{name}_seconds": s for name, s in time.items()}}
