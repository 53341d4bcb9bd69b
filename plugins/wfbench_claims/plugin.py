"""The documented claims, as descriptors."""

from __future__ import annotations

from wfbench.contract import ClaimSpec, hookimpl

_OPTIMISATION = "optimisation note, measured"
_PROJECTED = "parallel note, projected"


def _claim(
    number: int,
    name: str,
    measure: str,
    *,
    summary: str,
    documented: str,
    conditions: str,
    source: str,
) -> ClaimSpec:
    return ClaimSpec(
        number=number,
        name=name,
        measure=f"wfbench_claims.{measure}",
        summary=summary,
        documented=documented,
        conditions=conditions,
        source=source,
    )


@hookimpl
def wfbench_claims() -> list[ClaimSpec]:
    """All fourteen."""
    return [
        _claim(
            1,
            "shm-over-pipe",
            "speed:measure_headline",
            summary="shared memory over pipes",
            documented="180 to 3,052 transitions/s, 17x",
            conditions="200 envs",
            source=_OPTIMISATION,
        ),
        _claim(
            2,
            "vector-step",
            "speed:measure_vector_step",
            summary="one step of all envs",
            documented="550 to 33 ms, 16.7x",
            conditions='"200 envs"',
            source=_OPTIMISATION,
        ),
        _claim(
            3,
            "episode-time",
            "speed:measure_episode",
            summary="one episode of all envs",
            documented="111 to 6.6 s, 16.8x",
            conditions="200 envs x 100 steps",
            source=_OPTIMISATION,
        ),
        _claim(
            4,
            "workflow-time",
            "workflow_time:measure_workflow",
            summary="a whole workflow",
            documented="18-20x faster",
            conditions="shared memory, no evaluation phase",
            source=_OPTIMISATION,
        ),
        _claim(
            5,
            "data-per-update",
            "updates:measure_data",
            summary="data per update",
            documented="2,500 to 20,000 transitions, 8x",
            conditions="25 to 200 envs",
            source="configuration note",
        ),
        _claim(
            6,
            "parallel-over-single",
            "parallel:measure_single",
            summary="many envs over a single one",
            documented="about 10x wall clock, 25x data per gradient",
            conditions="25 envs",
            source=_PROJECTED,
        ),
        _claim(
            7,
            "gradient-stability",
            "gradient_noise:measure_stability",
            summary="stability of the gradient",
            documented="25x more stable",
            conditions="1 to 25 episodes per update",
            source=_PROJECTED,
        ),
        _claim(
            8,
            "parallel-over-sequential",
            "parallel:measure_sequential",
            summary="parallel against sequential episodes",
            documented="100-200 against 10-30 episodes/s, 5-10x",
            conditions="100 envs against 1",
            source="comparison note, projected",
        ),
        _claim(
            9,
            "memory",
            "memory:measure_memory",
            summary="memory of many envs",
            documented='5-10 GB against 500 MB; "same footprint"',
            conditions="100 envs against 1; 25 against 1",
            source="comparison note; parallel note; never measured",
        ),
        _claim(
            10,
            "equivalence",
            "equivalence:measure_equivalence",
            summary="many envs once or one env many times",
            documented="the same 10,000 transitions",
            conditions="100 envs x 1 episode, 1 env x 100 episodes",
            source="comparison note",
        ),
        _claim(
            11,
            "search-data",
            "workflow_time:measure_search_data",
            summary="what the search is told",
            documented="600 episodes for 0 s against 20 for 20+ s",
            conditions="200 envs, last 3 episodes against an evaluation",
            source="optimisation note",
        ),
        _claim(
            12,
            "convergence",
            "convergence:measure_convergence",
            summary="how soon an order is followed",
            documented="episodes 0-25 random, 25-50 first gain, 50-125 rising, 125-250 near 95 %",
            conditions="25 envs",
            source=_PROJECTED,
        ),
        _claim(
            13,
            "batch-sizes",
            "updates:measure_batch_sizes",
            summary="transitions per update of the trainers",
            documented="20,000 / 100 / 2,500",
            conditions="original / episode / parallel",
            source="rollout note",
        ),
        _claim(
            14,
            "early-stop",
            "early_stop:measure_early_stop",
            summary="the fewest episodes of a workflow",
            documented="5 find easy workflows sooner than 10",
            conditions="200 envs",
            source="configuration note",
        ),
    ]
