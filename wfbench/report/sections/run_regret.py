"""How far a search was from the best order, judged by a recorded landscape."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from wfbench.contract import UsageError
from wfbench.landscape.records import Landscape, read_landscape
from wfbench.orders import order_index
from wfbench.report.document import Column, Curves, Exhibit
from wfbench.search.results import WorkflowResult, better

from .common import table
from .recorded import RecordedSearch

LANDSCAPES = Path("results") / "landscapes"


def landscape_for(search: RecordedSearch, files: Iterable[Path]) -> Landscape | None:
    """The first of these landscapes that was recorded on what the search searched."""
    wanted = {
        "env": search.config["plugins"]["env"]["label"],
        "trainer": search.config["plugins"]["trainer"]["label"],
        "definition": search.config["definition"],
    }
    for file in files:
        found = read_landscape(file)
        if found.units == search.units and wanted.items() <= dict(found.meta).items():
            return found
    return None


def fitting_landscape(search: RecordedSearch, file: Path) -> Landscape:
    """The landscape in a file, which must be of what the search searched."""
    found = landscape_for(search, [file])
    if found is None:
        meta = read_landscape(file).meta
        raise UsageError(
            f"landscape {file} is of {meta['env']}, {meta['trainer']} and {meta['definition']}, "
            f"which run {search.id} did not search"
        )
    return found


def regret_exhibit(search: RecordedSearch, landscape: Landscape, command: str) -> Exhibit:
    """Regret after every workflow: of what the run would recommend, and of the best it tried."""
    scores = [landscape.scores(index) for index in range(len(landscape.replicates))]
    means = np.array([np.mean(one) if one else np.nan for one in scores])
    top = float(np.nanmax(means))
    rows: list[tuple[object, ...]] = []
    best: WorkflowResult | None = None
    tried = float("nan")
    for result in search.finished():
        best = result if better(result, best) else best
        tried = float(np.fmax(tried, means[order_index(result.order)]))
        steps = result.workflow + 1
        if best is not None:
            chosen = float(top - means[order_index(best.order)])
            rows.append(("recommended", steps, chosen, search.written(best.order)))
        rows.append(("best tried", steps, top - tried, search.written(result.order)))
    columns = [
        Column("curve"),
        Column("workflows trained"),
        Column("regret", "points", 1),
        Column("order"),
    ]
    return Exhibit(
        title="How far from the best order was the search?",
        reading=(
            "By a recorded landscape, which says how training every order turned out on average: "
            "the best mean less the mean of the order the run would recommend, and of the best "
            "order it had tried. 0 is perfect. The best of many noisy means flatters itself, so "
            "some regret remains even for a perfect search."
        ),
        table=table(columns, rows),
        command=f"{command}; {landscape.meta['command']}",
        picture=Curves("workflows trained", "regret", "curve", from_zero=True, steps=True),
    )
