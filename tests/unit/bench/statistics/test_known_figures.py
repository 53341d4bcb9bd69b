"""The same samples give the same figures in every version: what was published can be checked.

`pytest --update-golden` writes the file anew after an intended change of the statistics.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wfbench.benchmarks.statistics.intervals import (
    adjusted,
    mean_estimate,
    permutation_test,
    rate_estimate,
    ratio_estimate,
    unpaired_difference_estimate,
    unpaired_permutation_test,
    unpaired_ratio_estimate,
)
from wfbench.benchmarks.statistics.learning import (
    Reach,
    improvement_probability,
    iqm_estimate,
    time_to_threshold,
)

NEW = [10.5, 12.25, 9.0, 11.0, 13.5, 10.0, 9.5]
OLD = [9.0, 12.5, 8.75, 9.25, 13.0, 9.0, 9.75]


def test_figures_are_those_that_were_published(golden: Callable[[str, str], None]) -> None:
    drift = np.sin(np.arange(30.0)).tolist()
    logs = [0.3 + value for value in drift]
    tests = {size: permutation_test(logs[:size]) for size in (4, 14, 15)}
    sets = {(8, 9): unpaired_permutation_test(logs[:8], drift[8:17])}
    sets[2, 1] = unpaired_permutation_test(logs[:2], drift[2:3])
    sets[7, 7] = unpaired_permutation_test(NEW, OLD)
    watched = [
        *(Reach(float(n), reached=n % 3 > 0) for n in range(1, 12)),
        Reach(3.0, reached=True),
    ]
    figures = {
        "mean": mean_estimate(NEW),
        "mean of two": mean_estimate(NEW[:2]),
        "rate": rate_estimate(NEW),
        "ratio": ratio_estimate(NEW, OLD),
        "difference": unpaired_difference_estimate(NEW, OLD[:4]),
        "unpaired ratio": unpaired_ratio_estimate(logs[:6], drift[:6]),
        **{f"signs of {size}": test for size, test in tests.items()},
        **{f"sets of {sizes}": test for sizes, test in sets.items()},
        "adjusted": adjusted([*tests.values()]),
        "middle": iqm_estimate([NEW, OLD[:5]]),
        "middle of two": iqm_estimate([[1.0, 2.0]]),
        "better": improvement_probability([NEW, OLD[:2]], [OLD, NEW[:3]]),
        "reached": time_to_threshold(watched),
    }
    golden("figures.txt", "\n".join(f"{name}: {found!r}" for name, found in figures.items()))
