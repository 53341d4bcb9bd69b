"""A session on disk: written sample by sample, validated when read.

`config.json` holds cases and settings, `samples.jsonl` one sample per line. Samples survive a
killed process; an unfinished last line is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from wfbench.benchmarks.measure.model import Case, Sample, Session, Settings
from wfbench.contract import UsageError
from wfbench.store.decoding import decode
from wfbench.store.event_log import EventLog, read_lines
from wfbench.store.files import read_json, read_record, write_json, writing
from wfbench.store.lock import RunLock
from wfbench.store.machine import fingerprint
from wfbench.store.places import BENCH_CONFIG, checked_name, new_name

SAMPLES_SCHEMA = "wfbench/samples/1"
SAMPLES_FILE = "samples.jsonl"


@dataclass(frozen=True)
class BenchConfig:
    """The contents of a bench run's `config.json`."""

    run: str
    created: str
    cases: tuple[Case, ...]
    settings: Settings
    command: tuple[str, ...] = ()
    """The command-line arguments that started the run."""


class SessionWriter(ExitStack):
    """A new run directory to which samples are appended as they are taken."""

    def __init__(
        self,
        out: Path,
        name: str | None,
        cases: Sequence[Case],
        settings: Settings,
        command: Sequence[str] = (),
    ) -> None:
        super().__init__()
        now = datetime.now().astimezone()
        run = new_name(now) if name is None else checked_name(name)
        self.path = out / run
        with writing(self.path):
            try:
                self.path.mkdir(parents=True)
            except FileExistsError as error:
                raise UsageError(f"{self.path} already exists; choose another --name") from error
        created = now.isoformat(timespec="seconds")
        config = BenchConfig(run, created, tuple(cases), settings, tuple(command))
        self._config = config
        with ExitStack() as opened:
            opened.callback(RunLock(self.path).release)
            write_json(self.path / "machine.json", "machine/1", fingerprint())
            write_json(self.path / "config.json", BENCH_CONFIG, asdict(config))
            self._log = opened.enter_context(closing(EventLog(self.path / SAMPLES_FILE)))
            self.push(opened.pop_all())

    def settle(self, settings: Settings) -> None:
        """Keep other settings: a session that ended early has fewer rounds."""
        write_json(
            self.path / "config.json",
            BENCH_CONFIG,
            asdict(replace(self._config, settings=settings)),
        )

    def record(self, sample: Sample) -> None:
        """Append one sample."""
        self._log.append({"schema": SAMPLES_SCHEMA, **asdict(sample)})


def load_session(path: Path) -> Session:
    """Read the session of a bench run; an interrupted one has fewer samples."""
    config = load_bench_config(path)
    samples = []
    for number, line in enumerate(read_lines(path / SAMPLES_FILE), start=1):
        where = f"{path / SAMPLES_FILE}, line {number}"
        if line.pop("schema", None) != SAMPLES_SCHEMA:
            raise UsageError(f"{where} is not a sample of schema {SAMPLES_SCHEMA}")
        sample = decode(Sample, line, where)
        if [sample.measurement, sample.failure, sample.skipped].count(None) != 2:
            raise UsageError(f"{where}: a sample must have either a measurement or a failure")
        if not 0 <= sample.case < len(config.cases):
            raise UsageError(f"{where}: there is no case {sample.case}")
        samples.append(sample)
    return Session(config.cases, config.settings, tuple(samples))


def load_bench_config(path: Path) -> BenchConfig:
    """Read what a bench run set out to measure, when, and by which command."""
    if not (path / "config.json").exists():
        raise UsageError(f"{path} is not a run: it has no config.json")
    return read_record(path / "config.json", BENCH_CONFIG, BenchConfig)


def load_machine(path: Path) -> dict[str, Any]:
    """Read which machine a run was made on."""
    values = read_json(path / "machine.json", "machine/1")
    del values["schema"]
    return values
