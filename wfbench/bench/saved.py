"""A session on disk: written sample by sample, read back strictly.

`config.json` holds cases and settings, `samples.jsonl` one sample per line. What a killed process
had measured is kept; a line it did not finish is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wfbench.contract import UsageError
from wfbench.store.decoding import decode
from wfbench.store.event_log import EventLog, read_events
from wfbench.store.files import read_json, write_json, writing
from wfbench.store.lock import RunLock
from wfbench.store.machine import fingerprint
from wfbench.store.places import BENCH_CONFIG, checked_name, new_name

from .model import Case, Sample, Session, Settings

SAMPLES_SCHEMA = "wfbench/samples/1"
SAMPLES_FILE = "samples.jsonl"


@dataclass(frozen=True)
class Plan:
    """What `config.json` of a bench run holds."""

    run: str
    created: str
    cases: tuple[Case, ...]
    settings: Settings
    command: tuple[str, ...] = ()
    """The arguments of `wfbench` that started it."""


class SessionWriter:
    """A new run directory that takes the samples of a session as they are taken."""

    def __init__(
        self,
        out: Path,
        name: str | None,
        cases: Sequence[Case],
        settings: Settings,
        command: Sequence[str] = (),
    ) -> None:
        now = datetime.now().astimezone()
        run = new_name(now) if name is None else checked_name(name)
        self.path = out / run
        with writing(self.path):
            try:
                self.path.mkdir(parents=True)
            except FileExistsError as error:
                raise UsageError(f"{self.path} already exists; choose another --name") from error
        plan = Plan(run, now.isoformat(timespec="seconds"), tuple(cases), settings, tuple(command))
        self._lock = RunLock(self.path)
        try:
            write_json(self.path / "machine.json", "machine/1", fingerprint())
            write_json(self.path / "config.json", BENCH_CONFIG, asdict(plan))
            self._log = EventLog(self.path / SAMPLES_FILE)
        except BaseException:
            self._lock.release()
            raise

    def record(self, sample: Sample) -> None:
        """Append one sample; it survives whatever happens to this process afterwards."""
        self._log.append({"schema": SAMPLES_SCHEMA, **asdict(sample)})

    def close(self) -> None:
        """Release files and lock; safe to call twice."""
        self._log.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def load_session(path: Path) -> Session:
    """The session of a bench run's directory; a session that was interrupted has fewer samples."""
    plan = load_plan(path)
    file = path / SAMPLES_FILE
    samples = []
    for number, line in enumerate(read_events(file, SAMPLES_SCHEMA), start=1):
        sample = _sample(line, f"{file}, line {number}")
        if not 0 <= sample.case < len(plan.cases):
            raise UsageError(f"{file}, line {number}: there is no case {sample.case}")
        samples.append(sample)
    return Session(plan.cases, plan.settings, tuple(samples))


def load_plan(path: Path) -> Plan:
    """What a bench run set out to measure, when and by which command."""
    if not (path / "config.json").exists():
        raise UsageError(f"{path} is not a run: it has no config.json")
    values = read_json(path / "config.json", BENCH_CONFIG)
    del values["schema"]
    return decode(Plan, values, str(path / "config.json"))


def load_machine(path: Path) -> dict[str, Any]:
    """The machine a run was made on."""
    values = read_json(path / "machine.json", "machine/1")
    del values["schema"]
    return values


def is_finished(session: Session) -> bool:
    """Whether every sample that was planned has been taken."""
    return len(session.samples) == len(session.cases) * session.settings.rounds


def _sample(line: Mapping[str, Any], where: str) -> Sample:
    values = dict(line)
    if values.pop("schema", None) != SAMPLES_SCHEMA:
        raise UsageError(f"{where}: this is not a sample of {SAMPLES_SCHEMA}")
    sample = decode(Sample, values, where)
    if (sample.measurement is None) == (sample.failure is None):
        raise UsageError(f"{where}: a sample has either a measurement or a failure")
    return sample
