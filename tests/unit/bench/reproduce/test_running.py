"""Claims of other people, claims that fail, and what is kept of all of them."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from wfbench.benchmarks.reproduce.model import read_reproduction
from wfbench.benchmarks.reproduce.running import reproduce, select_claims
from wfbench.contract import ClaimSpec, Finding, FindingTable, Interval, UsageError, hookimpl
from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.report.sections.reproduction import reproduction_markdown as markdown
from wfbench.report.sections.reproduction import write_reproduction_files as write_report

ROOT = Path(__file__).parents[4]

CLAIMS = """
from wfbench.contract import ClaimSpec, CollectCase, Finding, Interval, hookimpl

CASE = CollectCase(collector="sequential", env="synthetic", n_envs=2)

def fine(lab):
    [[sample]] = lab.collect([CASE], rounds=1, steps=2, seconds=0.01)
    rate = lab.mean([sample.rate])
    return Finding(
        measured="fast | enough", interval=rate, verdict="reproduced", why="It is.",
        values={"cores": float(lab.cores)},
    )

def broken(lab):
    raise RuntimeError("out of\\nluck")

def empty(lab):
    return {"transitions": 1.0}

def claim(name, **more):
    return ClaimSpec(
        name=name, summary="A claim", documented="fast", conditions="here",
        measure=f"{__name__}:{name}", **more,
    )

@hookimpl
def wfbench_claims():
    return [claim("broken"), claim("fine", number=99), claim("empty")]
"""


@pytest.fixture
def theirs(tmp_path):
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "their_claims.py").write_text(CLAIMS)
    yield load_plugins(PluginSettings(directories=(folder,), external=False))
    sys.modules.pop("their_claims", None)
    sys.path.remove(str(folder))


def test_claims_are_listed_by_number_then_name(theirs):
    names = [offer.spec.name for offer in select_claims(theirs, ())]
    assert names[:2] == ["shm-over-pipe", "vector-step"]
    assert names[13:] == ["early-stop", "fine", "broken", "empty"]
    chosen = select_claims(theirs, ["fine", "batch-sizes"])
    assert [offer.spec.name for offer in chosen] == ["batch-sizes", "fine"]
    with pytest.raises(UsageError, match="no claim 'nothing'"):
        select_claims(theirs, ["nothing"])
    with pytest.raises(UsageError, match="twice"):
        select_claims(theirs, ["fine", "fine"])


@pytest.fixture
def found(theirs, make_lab):
    told = []
    lab = make_lab(of=theirs)
    began = time.perf_counter()
    result = reproduce(
        lab,
        ["fine", "broken", "empty"],
        lambda *values: told.append((values[0], values[1], values[2].name)),
    )
    assert result.command == "wfbench reproduce fine broken empty --quick"
    assert told == [(1, 3, "fine"), (2, 3, "broken"), (3, 3, "empty")]
    taken = [claim.seconds for claim in result.claims]
    assert max(taken) <= result.seconds <= round(time.perf_counter() - began, 1)
    assert [round(one, 1) for one in (*taken, result.seconds)] == [*taken, result.seconds]
    return result


def test_a_claim_that_fails_keeps_no_other_from_being_judged(found):
    fine, broken, empty = found.claims
    assert (fine.finding.verdict, fine.failure) == ("reproduced", None)
    assert fine.measurements == (1,)
    assert fine.finding.interval.value > 0
    assert broken.finding is None
    assert broken.failure == "RuntimeError: out of luck"
    assert empty.failure == "their_claims:empty returned dict, not a Finding"
    assert found.failed
    assert found.measurements[0].samples[0][0]["transitions"] >= 4


def test_what_was_found_comes_back_from_its_file(found, tmp_path):
    data, text = write_report(tmp_path, found)
    again = read_reproduction(data)
    assert again.as_data() == found.as_data()
    assert again.claims == found.claims
    assert text.read_text() == markdown(again) == markdown(found)
    assert "fast \\| enough" in text.read_text()
    assert "failed: RuntimeError: out of luck" in text.read_text()


def test_a_busy_machine_is_told(found):
    for load, told in ((0.1, False), (500.0, True)):
        machine = {**found.machine, "load": [load, 0, 0], "usable_cores": 2}
        text = markdown(dataclasses.replace(found, machine=machine))
        assert ("had a load of 500.0 on 2 cores" in text) == told


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("claims"), "has no 'claims'"),
        (lambda data: data.update(schema="wfbench/reproduction/9"), "schema"),
        (
            lambda data: data["claims"][0]["finding"].update(verdict="maybe"),
            "verdict is 'maybe', not one of",
        ),
        (lambda data: data.update(surprise=1), "has 'surprise', which"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(found, tmp_path, change, message):
    data, _ = write_report(tmp_path, found)
    values = json.loads(data.read_text())
    change(values)
    data.write_text(json.dumps(values))
    with pytest.raises(UsageError, match=message):
        read_reproduction(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "perhaps"}, "verdict 'perhaps'"),
        ({"why": ""}, "why must be one line"),
        ({"why": "a\nb"}, "why must be one line"),
        ({"measured": " "}, "measured must be one line"),
        ({"values": {"rate": float("nan")}}, "value 'rate' is nan"),
    ],
)
def test_a_finding_says_what_it_must(change, message):
    sound = {"measured": "1x", "interval": Interval(1.0), "verdict": "reproduced", "why": "So."}
    Finding(**sound, tables=(FindingTable("t", ("a",), ((1.0,),)),))
    with pytest.raises(ValueError, match=message):
        Finding(**{**sound, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"documented": ""}, "documented must be one line"),
        ({"conditions": "a\nb"}, "conditions must be one line"),
        ({"number": "1"}, "number '1' is not an int"),
        ({"measure": "nowhere"}, "measure 'nowhere' is not"),
    ],
)
def test_a_claim_that_does_not_say_what_it_claims_is_broken(tmp_path, change, message):
    sound = {"name": "odd", "summary": "s", "documented": "d", "conditions": "c", "measure": "m:f"}

    @hookimpl
    def wfbench_claims():
        return [ClaimSpec(**{**sound, **change})]

    module = ModuleType("odd_claims")
    module.wfbench_claims = wfbench_claims
    sys.modules["odd_claims"] = module
    (tmp_path / "odd_plugin.py").write_text("from odd_claims import wfbench_claims\n")
    try:
        host = load_plugins(PluginSettings(directories=(tmp_path,), external=False))
    finally:
        sys.modules.pop("odd_claims")
        sys.modules.pop("odd_plugin", None)
        sys.path.remove(str(tmp_path))
    [broken] = host.broken
    assert message in broken.cause


def test_the_published_reproduction_is_whole_and_its_text_is_made_of_it():
    published = read_reproduction(ROOT / "results/reproduction.json")
    assert markdown(published) == (ROOT / "results/reproduction.md").read_text()
    assert [claim.number for claim in published.claims] == list(range(1, 15))
    assert not published.failed
    assert not published.quick
    known = {one.id for one in published.measurements}
    assert all(
        claim.measurements and known.issuperset(claim.measurements) for claim in published.claims
    )
