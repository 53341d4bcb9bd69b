"""The process that puts a collector to the test. Started by `wfbench.testing.judging`."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable
from typing import Any

from wfbench.contract import CollectorSpec, PluginError, WfbenchError
from wfbench.isolated import inside
from wfbench.options import resolve_options
from wfbench.plugins import PluginHost, PluginSettings, load_plugins

from .ground import Ground
from .judging import Case
from .promise import Promise
from .promises import COLLECTOR
from .verdict import BrokenPromiseError, Check, DoesNotApply


def main(descriptor: str) -> None:
    """Judge what comes over the connection until it is closed."""
    serve(descriptor, lambda slug, ground: judge(COLLECTOR.checks[slug], ground))


def serve(descriptor: str, answer: Callable[[str, Ground], Any]) -> None:
    """Answer questions about one collector, each on ground of its own."""
    connection = inside(descriptor)
    case = connection.recv()
    assert isinstance(case, Case)  # noqa: S101 (the protocol)
    try:
        host = load_plugins(PluginSettings())
        spec = _spec(host, case)
        resolve_options(spec, case.options)
        _refuse_unknown(spec)
    except WfbenchError as error:
        connection.send(error)
        return
    connection.send(dict(spec.cannot))
    while True:
        try:
            question = connection.recv()
        except EOFError:
            return
        connection.send(answer(str(question), Ground(spec, case.options, host)))


def judge(check: Check, ground: Ground) -> Promise:
    """Put one promise to the test, in this process."""
    missing = check.needs - ground.spec.capabilities
    if missing:
        lacks = ", ".join(sorted(missing))
        return Promise(check.name, kept=None, detail=f"it does not declare {lacks}")
    try:
        check.run(ground)
    except DoesNotApply as reason:
        return Promise(check.name, kept=None, detail=str(reason))
    except BrokenPromiseError as broken:
        return Promise(check.name, kept=False, detail=str(broken))
    except BaseException as error:  # noqa: BLE001 - whatever a subject raises breaks the promise
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename}, line {frames[-1].lineno}"
        text = " ".join(str(error).split())
        return Promise(check.name, kept=False, detail=f"{type(error).__name__}: {text} ({where})")
    finally:
        shutil.rmtree(ground.scratch, ignore_errors=True)
    return Promise(check.name, kept=True)


def _refuse_unknown(spec: CollectorSpec) -> None:
    unknown = sorted(set(spec.cannot) - set(COLLECTOR.checks))
    if unknown:
        raise PluginError(
            f"collector {spec.name!r} declares that it cannot keep {unknown[0]!r}, "
            "but there is no such promise"
        )


def _spec(host: PluginHost, case: Case) -> CollectorSpec:
    if isinstance(case.collector, CollectorSpec):
        return case.collector
    spec = host.find("collector", case.collector).spec
    assert isinstance(spec, CollectorSpec)  # noqa: S101 (that is what the kind means)
    return spec
