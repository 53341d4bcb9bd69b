"""`wfbench.reproduce`: test the documented claims by measuring them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wfbench.api.hosting import plugin_host
from wfbench.api.results import Progress, Result, Rows, Values, Watcher
from wfbench.benchmarks.reproduce.laboratory import Laboratory
from wfbench.benchmarks.reproduce.model import SCHEMA, ClaimResult, Reproduction
from wfbench.benchmarks.reproduce.running import reproduce as measure_claims
from wfbench.contract import ExitCode, UsageError
from wfbench.report.document import Section
from wfbench.report.sections.reproduction import reproduction_section, write_reproduction_files


class ReproductionResult(Result, schema=SCHEMA):
    """Which documented claims hold on this machine."""

    reproduction: Reproduction
    """Every claim with what was found."""
    written: tuple[Path, ...] = ()
    """The files that were written."""

    @property
    def exit_code(self) -> ExitCode:
        """TRIAL_FAILED if a claim could not be measured."""
        return ExitCode.TRIAL_FAILED if self.reproduction.failed else ExitCode.OK

    def _values(self) -> Values:
        return self.reproduction.as_data()

    def _rows(self) -> Rows:
        return [
            {
                "claim": claim.name,
                "documented": claim.documented,
                "measured": None if claim.finding is None else claim.finding.measured,
                "verdict": "failed" if claim.finding is None else str(claim.finding.verdict),
            }
            for claim in self.reproduction.claims
        ]

    def _sections(self) -> Sequence[Section]:
        return [reproduction_section(self.reproduction)]


def reproduce(
    *claims: str,
    quick: bool = False,
    to: str | Path | None = None,
    seed: int = 0,
    progress: Watcher | None = None,
) -> ReproductionResult:
    """Test the documented claims by measuring them, like for like.

    claims: their names; none: all.
    quick: measure less, in minutes; each finding says how.
    to: a directory to write reproduction.json and reproduction.md into.

    A claim that is not reproduced is a finding and no error.

    Example: wfbench.reproduce("shared-memory-factor", quick=True).show()
    """
    if to is not None and not Path(to).is_dir():
        raise UsageError(f"--to {to}: there is no such directory; make it first")
    watch = progress or (lambda _: None)
    last = Progress(0, 0, "")

    def say(line: str) -> None:
        watch(Progress(last.done, last.total, f"  {line}"))

    def done(index: int, of: int, result: ClaimResult) -> None:
        nonlocal last
        outcome = result.finding.verdict if result.finding else f"failed: {result.failure}"
        text = f"claim {index}/{of}  {result.name}: {outcome} ({result.seconds:.0f} s)"
        last = Progress(index, of, text, result)
        watch(last)

    lab = Laboratory(plugin_host(), seed=seed, quick=quick, say=say)
    found = measure_claims(lab, claims, done)
    written = () if to is None else tuple(write_reproduction_files(Path(to), found))
    return ReproductionResult(found, written)
