"""Which cases a user asked for, and which ones a stored session had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wfbench.benchmarks.measure.model import POLICIES, Case
from wfbench.contract import FactorySpec, UsageError
from wfbench.host.manager import PluginHost
from wfbench.host.options import all_options
from wfbench.settings.selection import ALL, Choice, env_ref, mismatch, parse_selector, select

REFERENCE = "sequential"
"""The collector that comes first if all are selected: the others are compared with the first."""


def select_cases(
    host: PluginHost,
    *,
    collectors: Sequence[str | type],
    env: str,
    n_envs: Sequence[int],
    policy: str,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    workers: int | None = None,
    shared: Mapping[str, int] | None = None,
) -> list[Case]:
    """Return every selected collector with every number of environments, grouped by number.

    `workers` goes to every collector that has such an option, and so does each value of `shared`.
    """
    common = {**(shared or {}), **({} if workers is None else {"workers": workers})}
    wanted = {"collector": collectors, "env": [env]}
    chosen = select(host, wanted, options or {}, {"collector": common})
    where = chosen["env"][0]
    fitting: Sequence[Choice] = chosen["collector"]
    if list(collectors) == [ALL]:
        fitting = [choice for choice in fitting if mismatch(choice, where) is None]
        fitting = sorted(fitting, key=lambda choice: choice.spec.name != REFERENCE)
    if workers is not None and not any("workers" in _options(choice.spec) for choice in fitting):
        raise UsageError("--workers is given, but no selected collector has workers")
    return [_case(choice, where, count, policy) for count in n_envs for choice in fitting]


def rebuild_case(host: PluginHost, stored: Case) -> Case:
    """Return a stored case as the installed plugins build it.

    An option that a plugin has gained since then has its default. Raises UsageError that names
    whatever else differs.
    """
    name, _ = parse_selector(stored.label)
    collector = _rebuilt(host, "collector", name, stored.options)
    if collector.label != stored.label:
        raise UsageError(f"{stored.label} is {collector.label} now: a default has changed")
    return _case(collector, _env(host, stored), stored.n_envs, stored.policy)


def env_label(host: PluginHost, stored: Case) -> str:
    """Return the selector that chooses the environment of a stored case now."""
    return _env(host, stored).label


def _env(host: PluginHost, stored: Case) -> Choice:
    return _rebuilt(host, "env", stored.env.name, {**stored.env.options, **stored.env.form})


def _case(collector: Choice, env: Choice, n_envs: int, policy: str) -> Case:
    if policy not in POLICIES:
        raise UsageError(f"there is no policy {policy!r}; choose from {', '.join(POLICIES)}")
    reason = mismatch(collector, env)
    if reason is not None:
        raise UsageError(reason)
    return Case(
        label=collector.label,
        factory=collector.spec.factory,
        options=dict(collector.options),
        env=env_ref(env),
        n_envs=n_envs,
        policy=policy,
        deterministic="deterministic" in collector.spec.capabilities,
        source=collector.offer.source.with_libraries(),
    )


def _rebuilt(host: PluginHost, kind: str, name: str, options: Mapping[str, Any]) -> Choice:
    known = _options(host.find(kind, name).spec)
    for option in options:
        if option not in known:
            raise UsageError(f"{kind} {name!r} no longer has the option {option!r}")
    given = {option: "none" if value is None else value for option, value in options.items()}
    [choice] = select(host, {kind: [name]}, {name: given} if given else {})[kind]
    return choice


def _options(spec: object) -> set[str]:
    if not isinstance(spec, FactorySpec):
        return set()
    return {option.name for option in all_options(spec)}
