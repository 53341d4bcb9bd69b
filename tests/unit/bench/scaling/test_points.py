"""Which points are measured or left out, and the curves of sessions with chosen measurements."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from wfbench.benchmarks.measure.model import (
    PHASES,
    Case,
    Measurement,
    Sample,
    Session,
    Settings,
)
from wfbench.benchmarks.scaling import points
from wfbench.benchmarks.scaling.curves import base_name, collector_costs, growth_curves
from wfbench.benchmarks.scaling.points import select_points, too_much, worker_counts
from wfbench.contract import EnvRef
from wfbench.host.manager import PluginSettings, load_plugins

GB = 2**30
MEASURED = Measurement(
    *(0.5, 0.1, 1.0, 1.0, 0.0, 1000, 10, 2**20, dict.fromkeys(PHASES, 0.25)),
    *(0, 0, 0, 0, 0.0, 0, (), "h", False),
)


def case(label: str, n_envs: int, **options: Any) -> Case:
    return Case(label, "made:C", options, EnvRef("e", "made:E"), n_envs, "random", True)  # noqa: FBT003


Taken = tuple[Case, Measurement | str | None]


def session(*taken: Taken, rounds: int = 2) -> Session:
    samples = []
    for index, (_, found) in enumerate(taken):
        for number in range(rounds if found is not None else 0):
            said = {"skipped": found} if isinstance(found, str) else {"measurement": found}
            samples.append(Sample(index, number, len(samples), 0, **said))  # type: ignore[arg-type]
    return Session(tuple(one for one, _ in taken), Settings(rounds=rounds), tuple(samples))


@pytest.mark.parametrize(
    ("cores", "counts"),
    [
        (1, (1, 2)),
        (2, (1, 2, 3, 4)),
        (4, (1, 2, 3, 4, 8)),
        (6, (1, 2, 3, 4, 6, 8, 12)),
        (8, (1, 2, 3, 4, 8, 16)),
    ],
)
def test_workers_go_up_to_twice_the_cores(cores: int, counts: tuple[int, ...]) -> None:
    assert worker_counts(cores) == counts


def test_usual_sizes_span_four_orders_of_magnitude() -> None:
    assert points.SIZES == (1, 10, 50, 200, 1_000, 5_000, 20_000)
    assert points.SMOKE_SIZES == (1, 4, 16)


def test_workers_vary_on_the_middle_size_and_never_outnumber_environments() -> None:
    host = load_plugins(PluginSettings(external=False))
    found = select_points(
        host,
        collectors=["sequential", "shm"],
        env="synthetic",
        n_envs=(1, 2, 8),
        workers=(1, 2, 3),
        policy="random",
    )
    keys = [(one.label, one.n_envs) for one in found]
    sizes = [(name, n) for n in (1, 2, 8) for name in ("sequential", "shm")]
    assert sorted(keys) == sorted([*sizes, ("shm:workers=1", 2), ("shm:workers=2", 2)])
    even = select_points(
        host, collectors=["shm"], env="synthetic", n_envs=(1, 2, 8, 9), workers=[3], policy="random"
    )
    assert ("shm:workers=3", 8) in [one.key for one in even]


@pytest.mark.parametrize(
    ("changed", "free", "why"),
    [
        ({}, 64 * GB, None),
        ({"start_up": 2.0}, 64 * GB, None),
        (
            {"start_up": 2.1},
            64 * GB,
            "opening and the first collect would take about 16 s, more than 15 s (from 20 env",
        ),
        ({"memory": 2 * GB}, 24 * GB, None),
        (
            {"memory": 2 * GB},
            23 * GB,
            "it would need about 12.0 GB, more than half of what is free (from 20 environments)",
        ),
    ],
)
def test_a_point_that_would_take_too_much_is_left_out(
    changed: dict[str, Any], free: int, why: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 10 to 20 environments something grows, and a point far beyond is asked for."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=free))
    base = replace(MEASURED, start_up=1.0, warm_up=0.0, memory=GB)
    grown = {"start_up": 1.0, "memory": GB} | changed
    found = session(
        (case("shm", 1), replace(base, start_up=900.0)),
        (case("shm", 10), base),
        (case("shm", 20), replace(base, **grown)),
        (case("pipe", 50), replace(base, start_up=900.0)),
        (case("shm", 5000), replace(base, start_up=900.0)),
        (case("shm", 120 if "memory" in changed else 150), None),
        rounds=1,
    )
    said = too_much(found, Sample(5, 0, 5, 0))
    assert said is None if why is None else str(said).startswith(why)


def test_two_smaller_points_are_enough() -> None:
    measured = [replace(MEASURED, start_up=seconds, warm_up=0.0) for seconds in (5.0, 10.0)]
    for largest, left_out in ((30, False), (31, True)):
        smaller = [(case("shm", 10 * (i + 1)), one) for i, one in enumerate(measured)]
        found = session(*smaller, (case("shm", largest), None), rounds=1)
        assert (too_much(found, Sample(2, 0, 2, 0)) is not None) == left_out


def test_opening_and_the_first_collect_count_together() -> None:
    slow = replace(MEASURED, start_up=10.0, warm_up=5.1)
    found = session(*((case("shm", n), slow) for n in (10, 20)), (case("shm", 30), None), rounds=1)
    assert "would take about 15 s" in str(too_much(found, Sample(2, 0, 2, 0)))


def test_one_smaller_point_tells_nothing_and_the_first_round_decides() -> None:
    small, large = case("shm", 10), case("shm", 9000)
    assert too_much(session((small, MEASURED), (large, None)), Sample(1, 0, 1, 0)) is None
    left_out = session((small, MEASURED), (large, "too much"))
    assert too_much(left_out, Sample(1, 1, 3, 0)) == "too much"
    assert too_much(left_out, Sample(0, 1, 2, 0)) is None


def test_curves_by_environments_come_before_those_by_workers() -> None:
    found = growth_curves(
        session(
            (case("shm", 8, workers=0), replace(MEASURED, wall=2.0)),
            (case("shm", 4, workers=0), MEASURED),
            (case("shm:workers=2", 8, workers=2), replace(MEASURED, cpu=0.0)),
            (case("shm:workers=1", 8, workers=1), replace(MEASURED, memory=2**21)),
            (case("shm:workers=3", 8, workers=3), "left out"),
            (case("lone", 8), MEASURED),
            (case("pipe:workers=2", 8, workers=2), MEASURED),
            (case("vector:threads=2", 8, threads=2), MEASURED),
            (case("vector:threads=1", 8, threads=1), MEASURED),
        )
    )
    assert [(one.collector, one.along, one.n_envs) for one in found] == [
        ("shm", "environments", None),
        ("shm", "workers", 8),
        ("vector", "workers", 8),
    ]
    envs, workers, threads = found
    assert [one.x for one in threads.samples] == [1, 2]
    rates = [(one.x, one.rate and one.rate.value) for one in envs.samples]
    assert rates == [(4, pytest.approx(1000.0)), (8, pytest.approx(500.0))]
    shown = [(one.x, one.problem, one.memory and one.memory.value) for one in workers.samples]
    assert shown == [
        (1, "", pytest.approx(2**21)),
        (2, "", pytest.approx(2**20)),
        (3, "left out", None),
    ]
    assert workers.samples[1].cpu_us is not None
    assert workers.samples[1].cpu_us.value == pytest.approx(1e-3)
    assert envs.rate.why.startswith("2 points are too few")


def test_costs_are_fitted_up_to_twice_the_cores_and_the_rest_is_checked() -> None:
    def took(n: int, workers: int, cores: int) -> Measurement:
        wall = 10 * (2e-5 * workers + 1e-6 * n + 4e-6 * n / min(workers, cores))
        cpu = 10 * (2e-5 * workers + 5e-6 * n)
        return replace(MEASURED, wall=wall, cpu=cpu, messages=20 * workers, transitions=10 * n)

    cores = 2
    taken: list[Taken] = [
        (case(f"shm:workers={w}", n, workers=w), took(n, w, cores))
        for n in (8, 64, 512)
        for w in (1, 2, 3, 4, 5)
    ]
    taken += [(case("shm", n, workers=0), took(n, 2, cores)) for n in (16, 600)]
    taken += [(case("shm", 700, workers=0), took(700, 7, cores))]
    taken += [(case("shm", 900, workers=0), replace(took(900, cores, cores), messages=0))]
    taken += [(case("shm:workers=6", 32, workers=6), replace(took(32, 6, cores), messages=20))]
    taken += [(case("sequential", 8), MEASURED), (case("pipe", 8, workers=2), MEASURED)]
    shm, pipe = collector_costs(session(*taken, rounds=1), cores)
    assert (shm.collector, pipe.collector) == ("shm", "pipe")
    assert shm.costs is not None, shm.why
    assert (pipe.costs, pipe.predictions) == (None, ())
    assert pipe.why
    told = [(one.n_envs, one.workers, one.cores, one.where) for one in shm.predictions]
    assert told == [
        *((n, 5, 2, "here") for n in (8, 64, 512)),
        (700, 7, 2, "here"),
        (32, 6, 2, "here"),
        (512, 64, 64, "64 cores"),
        (900, 64, 64, "64 cores"),
        (900, 640, 640, "10 nodes of 64 cores"),
    ]
    for one in shm.predictions:
        assert sum(one.shares.values()) == pytest.approx(1.0)
    here = shm.predictions[2]
    assert here.measured == pytest.approx(512 / (took(512, 5, cores).wall / 10))
    assert here.rate == pytest.approx(here.measured, rel=0.3)


def test_the_number_of_workers_is_no_part_of_a_collectors_name() -> None:
    assert base_name(case("shm:workers=2,payload=mask", 8)) == "shm:payload=mask"
    assert base_name(case("vector:threads=2", 8)) == "vector"


def test_sizes_go_from_one_environment_to_as_many_as_a_machine_holds() -> None:
    assert points.SIZES == (1, 10, 50, 200, 1_000, 5_000, 20_000)
    assert points.SMOKE_SIZES == (1, 4, 16)
