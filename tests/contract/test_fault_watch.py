"""What a caller sees of a fault: each word of the report is earned by a collector."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from wfbench.contract import CollectorSpec
from wfbench.report import make_report
from wfbench.report.formats.choosing import our_formats
from wfbench.report.sections.plugins import faults_data, faults_section
from wfbench.testing.fault_watch import FaultSeen, watch_faults
from wfbench_collectors.options import ShmOptions

COLLECTORS = """
import time

from wfbench.contract import CollectError
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.shm import ShmCollector


class Loses(SequentialCollector):
    def collect(self, policy, steps):
        try:
            return super().collect(policy, steps)
        except CollectError:
            raise CollectError("something failed") from None


class Raw(SequentialCollector):
    def collect(self, policy, steps):
        try:
            return super().collect(policy, steps)
        except CollectError:
            raise RuntimeError("something failed") from None


class Closes(SequentialCollector):
    def close(self):
        super().close()
        raise RuntimeError("it cannot")
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "fault_collectors.py").write_text(COLLECTORS)
    monkeypatch.syspath_prepend(str(tmp_path))

    def made(name: str) -> CollectorSpec:
        path = f"fault_collectors:{name}"
        return CollectorSpec(name=name.lower(), summary="For a test", factory=path)

    return made


SHM = CollectorSpec(
    name="shm",
    summary="Ours",
    factory="wfbench_collectors.shm:ShmCollector",
    options=ShmOptions,
    capabilities=frozenset({"deterministic", "workers", "restart"}),
)
SEQUENTIAL = CollectorSpec(
    name="sequential",
    summary="Ours",
    factory="wfbench_collectors.sequential:SequentialCollector",
)


def test_ours_tell_recover_and_can_be_used_again():
    kill, hang, restart = watch_faults([(SHM, {})], ["kill@3", "hang@3", "restart"])
    assert (kill.outcome, kill.close, kill.usable_again) == ("told", "", True)
    assert kill.seconds is not None
    assert kill.seconds < 5
    assert "SIGKILL" in kill.detail
    assert (hang.outcome, hang.usable_again) == ("told", True)
    assert "DeadlineError" in hang.detail
    assert restart.outcome == "recovered"


def test_a_process_that_dies_or_hangs_is_reported_and_the_next_fault_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    told = []
    found = watch_faults(
        [(SEQUENTIAL, {})],
        ["kill@3", "hang@3", "raise@3", "restart"],
        limit=15,
        progress=told.append,
    )
    assert told == found
    assert [seen.outcome for seen in found] == ["caller died", "hung", "told", "not offered"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "outcome"), [("Loses", "cause lost"), ("Raw", "wrong error")])
def test_an_error_is_not_enough(spec, name, outcome):
    [seen] = watch_faults([(spec(name), {})], ["raise@3"])
    assert seen.outcome == outcome
    assert "something failed" in seen.detail


def test_what_is_wrong_with_close_is_told(spec):
    [seen] = watch_faults([(spec("Closes"), {})], ["raise@3"])
    assert (seen.outcome, seen.usable_again) == ("told", False)
    assert seen.close == "raised RuntimeError: it cannot"


def test_the_table_has_a_row_per_fault_and_a_column_per_collector():
    found = [
        FaultSeen("shm", "kill@3", "told", 0.12, "x", usable_again=True),
        FaultSeen("shm", "hang@3", "told", 2.0),
        FaultSeen("peer", "kill@3", "cause lost", 0.2, close="took 9.0 s", usable_again=False),
        FaultSeen("peer", "hang@3", "hung"),
    ]
    text = our_formats()["md"].render(
        make_report(faults_section(found, {"shm": "wfbench 1", "peer": "peer 2"}, "wfbench x"))
    )
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert lines[:4] == [
        "| fault | shm | peer |",
        (
            "| its process is killed (kill&#64;3) | reported 0.1 s | "
            "cause lost 0.2 s, close took 9.0 s, unusable afterwards |"
        ),
        "| it hangs (hang&#64;3) | reported 2.0 s | hung |",
        "| in all | 2 reported | 1 cause lost, 1 hung |",
    ]
    assert "| shm | wfbench 1 |" in lines
    assert "made by `wfbench x`" in text
    assert len(faults_data(found, {})["seen"]) == 4
