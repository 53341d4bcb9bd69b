"""The environment `cyborg`. Imported whenever wfbench starts, so it imports nothing heavy."""

from __future__ import annotations

from itertools import product

from wfbench.contract import EnvSpec, Health, HealthCheckSpec, PluginError, Published, hookimpl

from .options import CyborgOptions

_BOARD = "CAGE Challenge 2, final leader board (github.com/cage-challenge/cage-challenge-2)"
_PUBLISHED = tuple(
    Published(
        name,
        dict(zip(product(("bline", "meander"), (30, 50, 100)), returns, strict=True)),
        source=_BOARD,
        knew_red=False,
    )
    for name, returns in (
        ("CardiffUni (winner)", (-3.47, -6.41, -13.76, -5.64, -8.69, -16.6)),
        ("Keeping-it-RL", (-3.48, -5.85, -11.39, -6.47, -10.33, -19.38)),
    )
)


@hookimpl
def wfbench_envs() -> list[EnvSpec]:
    """Return the environment `cyborg`."""
    return [
        EnvSpec(
            name="cyborg",
            summary="CAGE Challenge 2 in the official simulator, which must be installed apart",
            factory="wfbench_cyborg.env:CyborgEnv",
            options=CyborgOptions,
            positional="red",
            horizon="episode_steps",
            published=_PUBLISHED,
            capabilities=frozenset({"workflow", "true-state"}),
        )
    ]


@hookimpl
def wfbench_health_checks() -> list[HealthCheckSpec]:
    """Return the check that the simulator can be played."""
    return [HealthCheckSpec(name="cyborg", summary="Official simulator", check=_play_ten_steps)]


def _play_ten_steps() -> Health:
    """Return whether the simulator is found and plays ten steps."""
    from .env import CyborgEnv
    from .simulator import HOW_TO_GET_IT, version

    try:
        found = version()
        env = CyborgEnv(episode_steps=10)
        env.reset(seed=0)
        total = sum(env.step(0)[1] for _ in range(10))
    except PluginError as error:
        cause = str(error).partition(";")[0]
        return Health(ok=False, message=cause, remedy=HOW_TO_GET_IT)
    return Health(ok=True, message=f"CybORG {found}: ten steps played, return {total:.1f}")
