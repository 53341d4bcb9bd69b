"""What the plugin offers: names, summaries, options and their defaults."""

from __future__ import annotations

from collections.abc import Callable

from offered import offered

from wfbench_synthetic import plugin


def test_what_is_offered_is_what_it_was(golden: Callable[[str, str], None]) -> None:
    golden("offered.txt", offered(plugin))
