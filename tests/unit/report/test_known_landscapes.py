"""Landscapes and searchers with chosen values read as they did.

`pytest --update-golden` writes the files anew after an intended change; look at the difference.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from known_pages import page

from wfbench.report.document import Check, Section
from wfbench.report.sections import landscape
from wfbench.search.history import read_search
from wfbench.search.landscape.records import read_landscape
from wfbench.search.landscape.regret import (
    MedianInterval,
    RegretComparison,
    Rival,
    SearchBench,
    SearcherResult,
)
from wfbench.search.landscape.signal import Signal

DATA = Path(__file__).parents[2] / "formats" / "data"
SIGNAL = Signal(3.0, 4.0, 0.36, 0.25, 0.5, 6, 12)


def _searcher(name: str, end: float) -> SearcherResult:
    left = tuple(MedianInterval(at, at - 1, at + 1) for at in (8.0, end))
    return SearcherResult(name, left, left[::-1], (9.0, end + 2), 0.625, 1.5)


def _bench(batch: int) -> SearchBench:
    beside = RegretComparison(MedianInterval(-2.0, -3.0, -1.0), 0.75, 0.125)
    found = (_searcher("slow", 4.0), _searcher("quick", 2.0))
    return SearchBench(2, 1000, 7, batch, found, (Rival("quick", "slow", beside),))


def _landscape(
    folder: Path, scores: Mapping[int, Sequence[float]], told: Sequence[str] = ()
) -> Path:
    """Write the kept landscape with these scores by order; `told`: what it says about itself."""
    data = json.loads((DATA / "landscape.json").read_text())
    if told:
        data["meta"] = {name: data["meta"][name] for name in told}
    for one in data["orders"]:
        rest = {"compliance": 0.5, "steps_to_compliance": None, "env_steps": 120}
        given = scores.get(one["index"], ())
        one["replicates"] = [{"seed": n, "score": s, **rest} for n, s in enumerate(given)]
    (folder / "landscape.json").write_text(json.dumps(data))
    return folder / "landscape.json"


def test_searchers_with_chosen_values_read_as_they_did(golden: Callable[[str, str], None]) -> None:
    synthetic = {"synthetic": "mallows", "icc": 0.25}
    kept = {"landscape": "l.json", "unit": "%", "meta": {"env": "made", "budget": 9}}
    stored = json.loads(json.dumps(landscape.searchers_data(_bench(3), kept, SIGNAL)))
    sections = [
        landscape.searchers_section(_bench(1), synthetic, None),
        landscape.searchers_section(_bench(2), {**kept, "value": "compliance"}, SIGNAL, "here"),
        landscape.stored_searchers_section({"schema": "made/1", **stored}, "stored"),
    ]
    golden("searchers.md", page(*sections))


def test_regret_with_chosen_values_reads_as_it_did(
    golden: Callable[[str, str], None], tmp_path: Path
) -> None:
    """The first training is broken off, so that nothing is recommended after it."""
    run = Path(shutil.copytree(DATA / "search-2", tmp_path / "search"))
    events: list[dict[str, Any]] = [
        json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()
    ]
    first = next(one for one in events if one["event"] == "workflow-finished")
    first |= {"status": "hopeless", "reason": "diverged", "score": None, "best": False}
    (run / "events.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in events))
    known = _landscape(tmp_path, {n: [-float(n)] for n in range(1, 120, 2)})
    judged = landscape.regret_exhibit(read_search(run), read_landscape(known), "made")
    section = Section("Regret", "search", Check("regret", "good", "made"), exhibits=(judged,))
    golden("regret.md", page(section))


def test_a_landscape_with_chosen_values_reads_as_it_did(
    golden: Callable[[str, str], None], tmp_path: Path
) -> None:
    """The best order on average is the most uncertain one; then orders are far apart."""
    unsure = {0: [0.0, 10.0], 1: [4.0], 2: [3.0, 3.5, 4.0]}
    apart = {number: [10.0 * number, 10.0 * number + 1] for number in range(6)}
    found = [read_landscape(_landscape(tmp_path, some)) for some in (unsure, apart, {})]
    golden("landscape.md", page(*(landscape.landscape_section(one, "made") for one in found)))


def test_a_landscape_fits_that_says_nothing_but_what_was_searched(tmp_path: Path) -> None:
    search = read_search(DATA / "search-2")
    wanted = ("env", "trainer", "definition")
    for names, fits in ((wanted, True), (wanted[:2], False)):
        file = _landscape(tmp_path, {}, names)
        assert (landscape.landscape_for(search, [file]) is not None) == fits
