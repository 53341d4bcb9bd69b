"""The documented conditions, as environments, collectors and trainings of wfbench."""

from __future__ import annotations

from typing import Any

from wfbench.contract import TrainCase, TrainSample, WorkflowSample

CYBORG = "synthetic:cyborg,construct=0"
"""The real simulator's costs of a step, a reset and a true state, but not of construction: that
is start-up, which no documented figure includes, and takes 245 ms for each of 200 envs."""

STEP_SECONDS = 0.003
"""What a step of it costs."""

HERE, CORE_EACH = "this machine", "a core per environment"
CONDITIONS = {HERE: CYBORG, CORE_EACH: f"{CYBORG},busy=false"}
"""The environment by condition. Those that compute share the cores of this machine. Those that
sleep never wait for a core, so what is left is the parent's work and moving data."""

LEFT_OUT = (
    "a core per environment: environments sleep their costs, which leaves out caches, memory "
    "bandwidth and the context switches of many processes on few cores"
)

WEIGHTLESS = "synthetic:obs_size=52"
"""The same environment without costs, for what does not depend on time."""

PIPE_TRUE_STATE = "pipe:payload=true-state"
"""The documented pipes: a process per env, the true state fetched twice per step."""

NO_CONSTRUCTION = "construction (245 ms per env) left out: it is start-up"
EPISODE = 100
"""Steps of an episode."""
DEFAULT_ORDER = "DESHU"
FEW, MANY = 25, 200
"""Environments of the two documented parallel configurations."""
FULL_BUDGET: dict[str, Any] = {"stop": "budget", "score": "evaluate:200"}
"""Nothing ends a training early, and all are scored alike."""


def shm_per_env(n_envs: int) -> str:
    """Return the documented shared memory: arrays, still a process per env."""
    return f"shm:workers={n_envs}"


def fewer_envs(n_envs: int, documented: int) -> tuple[str, ...]:
    """Return the note that there were fewer environments than documented, if so."""
    return (f"{n_envs} envs in place of {documented}",) if n_envs != documented else ()


def training(
    n_envs: int,
    episodes: int,
    *,
    orders: tuple[str, ...] = (DEFAULT_ORDER,),
    trainer: str = "ppo-parallel",
    collector: str = "vector",
    env: str = "cage2",
    **settings: Any,
) -> TrainCase:
    """Return the training of orders for up to `episodes` episodes of each env."""
    return TrainCase(
        trainer=trainer,
        orders=orders,
        collector=collector,
        env=env,
        settings={"n_envs": n_envs, "max_episodes": episodes, "min_episodes": 1, **settings},
    )


def update_size(samples: list[TrainSample]) -> float:
    """Return how many transitions one update learned from; every round must agree."""
    sizes = {last(sample).rollouts.transitions[0] for sample in samples}
    if len(sizes) != 1:
        raise ValueError(f"updates of one case had {sorted(sizes)} transitions")
    return float(sizes.pop())


def last(sample: TrainSample) -> WorkflowSample:
    """Return the last workflow of a training."""
    return sample.workflows[-1]


def gains(before: list[TrainSample], after: list[TrainSample]) -> list[float]:
    """Return by how much the score of the last workflow rose, round by round."""
    return [last(b).score - last(a).score for a, b in zip(before, after, strict=True)]
