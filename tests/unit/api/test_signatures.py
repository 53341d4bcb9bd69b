"""What every function of the API takes, and its defaults."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable

import wfbench
from wfbench.api import evaluating, hosting, revisions, searching
from wfbench.api.results import Result


def test_every_function_takes_what_it_always_took(golden: Callable[[str, str], None]) -> None:
    named = {name: getattr(wfbench, name) for name in wfbench.__all__}
    named |= {"configure": hosting.configure, "run_resolved": searching.run_resolved}
    named |= {"explain_config": searching.explain_config, "bisect": revisions.bisect}
    lines = []
    for name, found in sorted(named.items()):
        if inspect.isfunction(found):
            lines.append(name)
            for one in inspect.signature(found).parameters.values():
                default = "" if one.default is one.empty else f" = {one.default!r}"
                lines.append(f"  {one.kind.description}: {one.name}{default}")
        elif inspect.isclass(found) and issubclass(found, Result) and found is not Result:
            lines.append(f"{name} {found.schema} {found.listed}")
            lines += [f"  {one.name}{_default(one)}" for one in dataclasses.fields(found)]
    golden("signatures.txt", "\n".join(lines))


def _default(one: dataclasses.Field[object]) -> str:
    return "" if one.default is dataclasses.MISSING else f" = {one.default!r}"


def test_evaluations_are_of_these_cells_and_sizes() -> None:
    assert evaluating.HORIZONS == (30, 50, 100)
    assert evaluating.REDS == ("bline", "meander", "sleep")
    sizes = (evaluating.EPISODES, evaluating.CROSS_EPISODES)
    assert sizes == (1000, 200)
    assert searching.RunSettings.__required_keys__ == frozenset()
