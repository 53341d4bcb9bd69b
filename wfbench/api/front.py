"""Every name that `wfbench` offers."""

# mypy: implicit-reexport
# ruff: noqa: F401 (names for `wfbench`, which lists them in `__all__`)

from __future__ import annotations

from wfbench.api.catalogue import list_runs, remove_runs, run_history, validate_runs
from wfbench.api.claims import ReproductionResult, reproduce
from wfbench.api.evaluating import (
    CrossEvaluationResult,
    EvaluationResult,
    OrdersResult,
    TransferResult,
    evaluate,
    verify_transfer,
)
from wfbench.api.gating import (
    BaselineResult,
    CalibrationResult,
    CheckResult,
    ComparisonResult,
    baselines,
    calibrate,
    check,
    check_gate,
    compare,
    load_baseline,
    remove_baseline,
    save_baseline,
)
from wfbench.api.hosting import use_plugins
from wfbench.api.landscapes import (
    LandscapeResult,
    SearchBenchResult,
    bench_search,
    landscape,
    load_landscape,
)
from wfbench.api.measuring import Bench, bench
from wfbench.api.order_results import OrderResult
from wfbench.api.plugin_tools import (
    PluginCheckResult,
    PluginList,
    check_faults,
    check_plugin,
    doctor,
    plugin_details,
    plugins,
)
from wfbench.api.policies import LoadedPolicy, load_policy
from wfbench.api.publishing import BoardResult, ExportResult, board, export
from wfbench.api.reporting import ReportResult, make_report, report_all
from wfbench.api.results import Progress, Result
from wfbench.api.revisions import BisectResult, RevisionCheckResult, bisect, check_against
from wfbench.api.runs import Matrix, Run, load_run
from wfbench.api.searching import resume, run
from wfbench.contract import CollectError, NotComparableError, PluginError, UsageError, WfbenchError
