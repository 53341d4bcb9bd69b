"""Which cases a user asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wfbench.contract import UsageError
from wfbench.options import declared_options
from wfbench.plugins import PluginHost
from wfbench.selection import ALL, Choice, env_ref, mismatch, select

from .model import POLICIES, Case

REFERENCE = "sequential"
"""Of all collectors the one that the others are compared with."""


def select_cases(
    host: PluginHost,
    *,
    collectors: Sequence[str],
    env: str,
    n_envs: Sequence[int],
    policy: str,
    options: Mapping[str, Mapping[str, Any]],
    workers: int | None = None,
) -> list[Case]:
    """Every selected collector with every number of environments, collectors fastest changing.

    `workers` goes to every collector that has such an option.
    """
    if policy not in POLICIES:
        raise UsageError(f"there is no policy {policy!r}; choose from {', '.join(POLICIES)}")
    shared = {} if workers is None else {"collector": {"workers": workers}}
    chosen = select(host, {"collector": collectors, "env": [env]}, options, shared)
    where = chosen["env"][0]
    fitting = _fitting(chosen["collector"], where, forgiving=list(collectors) == [ALL])
    if workers is not None and not any(_has(choice, "workers") for choice in fitting):
        raise UsageError("--workers is given, but no selected collector has workers")
    return [
        Case(
            label=choice.label,
            factory=choice.spec.factory,
            options=dict(choice.options),
            env=env_ref(where),
            n_envs=count,
            policy=policy,
            deterministic="deterministic" in choice.spec.capabilities,
            source=choice.offer.source.with_libraries(),
        )
        for count in n_envs
        for choice in fitting
    ]


def _fitting(choices: Sequence[Choice], env: Choice, *, forgiving: bool) -> list[Choice]:
    """The collectors that can step the environment; of all of them, the reference first."""
    reasons = [mismatch(choice, env) for choice in choices]
    if not forgiving:
        for reason in reasons:
            if reason is not None:
                raise UsageError(reason)
        return list(choices)
    fitting = [choice for choice, reason in zip(choices, reasons, strict=True) if reason is None]
    return sorted(fitting, key=lambda choice: choice.spec.name != REFERENCE)


def _has(choice: Choice, option: str) -> bool:
    return option in {declared.name for declared in declared_options(choice.spec)}
