"""Find the repair order that best defends a network, and measure what finds it fastest.

    import wfbench

    run = wfbench.run(workflows=5, n_envs=50)        # search; kept in results/runs
    run.best                                         # the best order, its score and interval
    run.save("search.html")                          # charts; a notebook shows them by itself
    run.policy.act(observation)                      # actions of the best policy
    pandas.DataFrame(run.rows())                     # one row per workflow

    class MyCollector: ...                           # see help(wfbench.contract.roles.Collector)
    wfbench.check_plugin(MyCollector).show()         # does it keep the promises of a collector?
    wfbench.bench(collector=[MyCollector, "vector"]).show()

Results have `to_dict()`, `rows()`, `report("md")`, `save("page.html")` and `show()`. Nothing else
prints. Errors are subclasses of `WfbenchError`. `smoke=True` makes `run` and `bench` tiny.
"""

# ruff: noqa: F405 (a test keeps `__all__` equal to the names in wfbench.api.front)
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wfbench.api.front import *  # noqa: F403 - listed below; loaded when first used

__version__ = "0.3.0"

__all__ = [
    "BaselineResult",
    "Bench",
    "BisectResult",
    "BoardResult",
    "CalibrationResult",
    "CheckResult",
    "CollectError",
    "ComparisonResult",
    "CrossEvaluationResult",
    "EvaluationResult",
    "ExportResult",
    "LandscapeResult",
    "LoadedPolicy",
    "Matrix",
    "NotComparableError",
    "OrderResult",
    "OrdersResult",
    "PluginCheckResult",
    "PluginError",
    "PluginList",
    "Progress",
    "ReportResult",
    "ReproductionResult",
    "Result",
    "RevisionCheckResult",
    "Run",
    "SearchBenchResult",
    "TransferResult",
    "UsageError",
    "WfbenchError",
    "baselines",
    "bench",
    "bench_search",
    "bisect",
    "board",
    "calibrate",
    "check",
    "check_against",
    "check_faults",
    "check_gate",
    "check_plugin",
    "compare",
    "doctor",
    "evaluate",
    "export",
    "landscape",
    "list_runs",
    "load_baseline",
    "load_landscape",
    "load_policy",
    "load_run",
    "make_report",
    "plugin_details",
    "plugins",
    "remove_baseline",
    "remove_runs",
    "report_all",
    "reproduce",
    "resume",
    "run",
    "run_history",
    "save_baseline",
    "use_plugins",
    "validate_runs",
    "verify_transfer",
]

import_module(f"{__name__}.api.gymnasium_ids").register_with_gymnasium()


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.api.front"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
