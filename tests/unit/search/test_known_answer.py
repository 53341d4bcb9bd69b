"""What a kept joint run tells about its orders, to the digit.

`pytest --update-golden` writes the file anew after an intended change; look at the difference.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from wfbench.api.order_results import answer_data, specialised_data
from wfbench.report.sections.joint import orders_data
from wfbench.search.answer import find_answer
from wfbench.search.history import read_search
from wfbench.store.sweeps import read_sweeps

KEPT = Path(__file__).parents[2] / "data" / "joint-run"


def test_the_answer_of_a_kept_run_is_what_it_was(golden: Callable[[str, str], None]) -> None:
    search = read_search(KEPT)
    findings, units = search.findings, search.units
    assert findings is not None
    sweeps = [read_sweeps(KEPT / "sweeps" / f"00{n}.npz") for n in range(4)]
    told = {
        "all trainings": answer_data(findings.answer, units),
        "one training": answer_data(find_answer([sweeps[0]["normal"]]), units),
        "without an order": answer_data(find_answer([sweeps[2]["normal"]]), units),
        "one policy by order": orders_data(sweeps[0], units, 2),
        "specialised": specialised_data(findings),
        "sentences": findings.sentences(),
        "steps": [search.env_steps, search.elapsed, search.rate],
    }
    golden("answer.json", json.dumps(told, indent=1, default=str))
