"""A game that is shown looks as it did, colours included.

`pytest --update-golden` writes the file anew after an intended change; look at the difference.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wfbench_cage2.env import Cage2Env
from wfbench_cage2.kernel import start_state
from wfbench_cage2.layout import AT
from wfbench_cage2.render import table_text
from wfbench_cage2.tables import NUM_HOSTS, Decoy, Red


def test_a_full_table_is_118_characters_wide_and_wraps_decoys_only() -> None:
    state, _ = start_state(Red.BLINE)
    state[AT.dec : AT.dec + NUM_HOSTS] = 2 ** len(Decoy) - 1
    lines = table_text(state, 3).splitlines()
    assert lines[0].rstrip() == "step 3, red agent bline"
    assert max(map(len, lines)) == 118
    assert lines[1][0] == "\u250f"
    assert len(lines) > 2 * NUM_HOSTS
    assert not any("\u2026" in line for line in lines), "nothing is cut off"
    assert sum("User0" in line and "1 root" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"red_type": 1, "red_subnet": 0}, "red: DiscoverRemoteSystems Enterprise (Unknown)"),
        (
            {"red_type": 3, "red_host": 0, "exploit": 0, "red_success": 1},
            "red: ExploitRemoteService Defender with EternalBlue (True)",
        ),
        ({}, "red: Sleep (Unknown)"),
    ],
)
def test_what_red_did_is_told_with_its_target(changed: dict[str, int], said: str) -> None:
    state, _ = start_state(Red.BLINE)
    for name, value in (changed | {"blue_action": 0}).items():
        state[getattr(AT, name)] = value
    assert said in [line.strip() for line in table_text(state, 1).splitlines()]


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
