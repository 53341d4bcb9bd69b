"""A game that is shown looks as it did, colours included.

`pytest --update-golden` writes the file anew after an intended change; look at the difference.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wfbench_cage2.env import Cage2Env


def test_a_game_against_an_idle_defender_looks_as_it_did(
    golden: Callable[[str, str], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "118")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    env = Cage2Env(red="bline", render_mode="human", seed=1)
    env.reset(seed=1)
    shown = []
    for step in range(30):
        capsys.readouterr()
        env.step(step % 3)
        if step in {0, 3, 8, 14, 29}:
            shown.append(capsys.readouterr().out)
    env.close()
    golden("game.txt", "\n".join(shown))
