"""The cases of a baseline, as this installation builds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wfbench.contract import FactorySpec, NotComparableError, UsageError
from wfbench.options import declared_options
from wfbench.plugins import PluginHost
from wfbench.selection import Choice, env_ref, mismatch, parse_selector, select

from .baseline import Baseline
from .model import POLICIES, Case


def cases_now(host: PluginHost, baseline: Baseline) -> list[Case]:
    """What a baseline measured, from the code that is installed now.

    An option that a plugin has gained since then has its default. Whatever else differs makes the
    baseline not comparable, and is named.
    """
    try:
        return [_case(host, cell.case) for cell in baseline.cells]
    except UsageError as error:
        raise NotComparableError(
            f"baseline {baseline.name!r} cannot be measured here: {error}"
        ) from error


def _case(host: PluginHost, then: Case) -> Case:
    name, _ = parse_selector(then.label)
    collector = _choice(host, "collector", name, then.options)
    env = _choice(host, "env", then.env.name, then.env.options)
    reason = mismatch(collector, env)
    if reason is not None:
        raise UsageError(reason)
    if collector.label != then.label:
        raise UsageError(f"{then.label} is {collector.label} now: a default has changed")
    if then.policy not in POLICIES:
        raise UsageError(f"there is no policy {then.policy!r}")
    return Case(
        label=collector.label,
        factory=collector.spec.factory,
        options=dict(collector.options),
        env=env_ref(env),
        n_envs=then.n_envs,
        policy=then.policy,
        deterministic="deterministic" in collector.spec.capabilities,
    )


def _choice(host: PluginHost, kind: str, name: str, options: Mapping[str, Any]) -> Choice:
    spec = host.find(kind, name).spec
    known = set()
    if isinstance(spec, FactorySpec):
        known = {option.name for option in declared_options(spec)}
    for option in options:
        if option not in known:
            raise UsageError(f"{kind} {name!r} no longer has the option {option!r}")
    given = {option: "none" if value is None else value for option, value in options.items()}
    [choice] = select(host, {kind: [name]}, {name: given} if given else {})[kind]
    return choice
