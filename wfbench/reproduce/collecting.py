"""Samples of collecting, taken as `wfbench bench` takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wfbench.bench.cases import select_cases
from wfbench.bench.model import Case, Sample, Settings
from wfbench.bench.runner import run_session
from wfbench.contract import CollectCase, CollectError, CollectSample
from wfbench.plugins import PluginHost

Say = Callable[[str], None]
"""Told one line about every sample."""


def collect_samples(
    host: PluginHost, cases: Sequence[CollectCase], settings: Settings, say: Say
) -> list[list[CollectSample]]:
    """Every case in every round, interleaved; CollectError if a sample failed or is marked."""
    chosen = [_chosen(host, case) for case in cases]

    def took(sample: Sample) -> None:
        result = _refusal(sample) or f"{sample.rate:,.0f} transitions/s"
        case = cases[sample.case]
        say(
            f"round {sample.round + 1}/{settings.rounds}  {case.collector}  {case.env}  "
            f"{case.n_envs} envs  {case.policy}  {result}"
        )

    session = run_session(chosen, settings, took)
    return [
        [_checked(cases[index], sample) for sample in session.of_case(index)]
        for index in range(len(cases))
    ]


def _chosen(host: PluginHost, case: CollectCase) -> Case:
    [found] = select_cases(
        host,
        collectors=[case.collector],
        env=case.env,
        n_envs=[case.n_envs],
        policy=case.policy,
        options={},
    )
    return found


def _refusal(sample: Sample) -> str | None:
    """Why a sample cannot enter a finding; None: it can."""
    if sample.measurement is None:
        return f"failed: {sample.failure}"
    if not sample.clean:
        return f"marked: {', '.join(sample.measurement.marks)}"
    return None


def _checked(case: CollectCase, sample: Sample) -> CollectSample:
    measured, refusal = sample.measurement, _refusal(sample)
    if measured is None or refusal is not None:
        raise CollectError(f"{case.collector} on {case.n_envs} x {case.env}: {refusal}")
    return CollectSample(
        round=sample.round,
        seed=sample.seed,
        transitions=measured.transitions,
        vector_steps=measured.vector_steps,
        wall=measured.wall,
        cpu=measured.cpu,
        memory=measured.memory,
        start_up=measured.start_up,
    )
