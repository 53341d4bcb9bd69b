from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wfbench.orders import order_code
from wfbench.policies import NetworkPolicy
from wfbench.store.policy_file import PolicyLabel, StoredPolicy, write_policy

Run = Callable[..., subprocess.CompletedProcess[str]]
UNITS = ("defender", "enterprise", "op_server", "op_host", "user")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy file with random weights for cage2."""
    order = (4, 0, 1, 2, 3)
    network = NetworkPolicy.initial(52, 145, seed=1, hidden=(8,), condition=order_code(order))
    label = PolicyLabel(
        order=order,
        units=UNITS,
        env="cage2",
        env_options={"red": "bline", "episode_steps": 100},
        obs_shape=(52,),
        num_actions=145,
        definition="effective@1",
        trainer="ppo",
        run="r",
        workflow=0,
        score=None,
        compliance=None,
    )
    write_policy(tmp_path / "policy.npz", StoredPolicy(network.snapshot(), label))
    return tmp_path / "policy.npz"


def _cells(done: subprocess.CompletedProcess[str]) -> dict[tuple[str, int], dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return {(c["red"], c["horizon"]): c for c in json.loads(done.stdout)["cells"]}


def test_the_references_give_the_returns_of_the_real_simulator(wfbench: Run) -> None:
    documented = {"sleep": (-1134, -971), "random": (-749, -572), "reactive": (-77.7, -61.4)}
    for name, returns in documented.items():
        done = wfbench(
            *("evaluate", name, "--horizon", "100", "--episodes", "400", "--json"),
            *("--red", "bline", "--red", "meander"),
        )
        cells = _cells(done)
        for red, expected in zip(("bline", "meander"), returns, strict=True):
            cell = cells[red, 100]
            assert abs(cell["env_return"] - expected) < 0.03 * -expected + cell["half_interval"]


def test_the_oracle_follows_whatever_order_it_is_given(wfbench: Run) -> None:
    for order in ("DESHU", "reverse"):
        done = wfbench(
            *("evaluate", "greedy-oracle", "--order", order, "--horizon", "50"),
            *("--episodes", "50", "--red", "bline", "--red", "meander", "--json"),
            *("--definition", "effective"),
        )
        for cell in _cells(done).values():
            assert cell["compliance"] == cell["secondary_compliance"] == 1.0
            assert cell["wasted"] == 0
            assert cell["fixes"] > 1


def test_a_policy_that_never_had_to_choose_is_untested(wfbench: Run) -> None:
    argv = ("evaluate", "greedy-oracle", "--order", "DESHU", "--horizon", "50", "--red", "bline")
    cell = _cells(wfbench(*argv, "--episodes", "50", "--json"))["bline", 50]
    assert cell["counted"] == 0
    assert cell["compliance"] is None
    assert (cell["compliance_low"], cell["compliance_high"]) == (0.0, 1.0)


def test_a_policy_is_played_over_the_whole_grid_beside_the_leader_board(
    wfbench: Run, policy: Path
) -> None:
    wide = {"COLUMNS": "250"}  # else the table has two parts
    done = wfbench("evaluate", str(policy), "--episodes", "20", env=wide)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(\w+), (\d+) steps ", done.stdout, re.MULTILINE)
    grid = [(red, steps) for red in ("bline", "meander", "sleep") for steps in ("30", "50", "100")]
    assert rows == grid
    assert "U>D>E>S>H" in done.stdout
    assert "-54.57" in done.stdout
    assert "-56.90" in done.stdout


def test_the_same_seed_plays_the_same_episodes(wfbench: Run, policy: Path) -> None:
    argv = ("evaluate", str(policy), "--episodes", "30", "--horizon", "30", "--json")
    one, same, other = (_cells(wfbench(*argv, "--seed", seed)) for seed in ("1", "1", "2"))
    assert one == same
    assert one != other
    other_way = _cells(wfbench(*argv, "--seed", "1", "--collector", "sequential"))
    assert other_way == one


def test_greedy_takes_the_most_likely_action(policy: Path) -> None:
    from wfbench.store.policy_file import read_policy

    found = read_policy(policy).policy()
    assert isinstance(found, NetworkPolicy)
    greedy = found.greedy()
    obs = np.random.default_rng(3).integers(0, 2, (40, 52)).astype(np.uint8)
    best = np.full(40, -np.inf)
    action = np.full(40, -1)
    for draw in np.linspace(0, 0.999, 400):
        acts = found.act(obs, np.full(40, draw))
        better = acts.log_probs > best
        best[better], action[better] = acts.log_probs[better], acts.actions[better]
    for draw in (0.0, 0.5, 0.999):
        np.testing.assert_array_equal(greedy.act(obs, np.full(40, draw)).actions, action)


def test_changing_only_the_code_is_measured(wfbench: Run, policy: Path) -> None:
    done = wfbench(
        *("evaluate", str(policy), "--orders", "UDESH,DESHU,7", "--episodes", "10", "--json")
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == "wfbench/cross-evaluation/1"
    assert [row["order"] for row in answer["rows"]] == ["U>D>E>S>H", "D>E>S>H>U", "D>S>E>U>H"]
    assert len(answer["judges"]) == 120
    assert all(len(row["compliance"]) == 120 for row in answer["rows"])
    assert answer["rows"][0]["actions_changed"] == 0
    assert answer["rows"][1]["actions_changed"] > 0


def test_the_policies_of_a_run_are_judged_by_every_order(
    wfbench: Run, small_plugins: dict[str, str], tmp_path: Path
) -> None:
    done = wfbench(
        *("run", "--preset", "per-order", "--trainer", "tiny", "--searcher", "climber"),
        *(
            "--n-envs",
            "4",
            "--quiet",
            "--workflows",
            "2",
            "--max-episodes",
            "2",
            "--min-episodes",
            "1",
        ),
        *("--out", str(tmp_path), "--name", "r"),
        env=small_plugins,
    )
    assert done.returncode == 0, done.stderr
    argv = ("evaluate", "r", "--out", str(tmp_path), "--episodes", "8")
    judged = wfbench(*argv, "--orders", "trained", "--json", env=small_plugins)
    assert judged.returncode == 0, judged.stderr
    assert len(json.loads(judged.stdout)["rows"]) == 2
    played = wfbench(*argv, "--horizon", "30", "--greedy", env=small_plugins)
    assert played.returncode == 0, played.stderr
    assert "bline" in played.stdout


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("nothing",), "neither a policy file, nor a run, nor a reference of cage2"),
        (("sleep", "--red", "blue"), "unknown red agent"),
        (("sleep", "--order", "DDDDD"), "is not an order"),
        (("sleep", "--greedy"), "no greedy form"),
        (("sleep", "--orders", "all"), "not conditioned on an order"),
        (("sleep", "--definition", "nice"), "nice"),
        (("sleep", "--collector", "none-such"), "there is no collector"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line(
    wfbench: Run, argv: tuple[str, ...], said: str
) -> None:
    done = wfbench("evaluate", "--episodes", "2", *argv)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_strangers_file_runs_no_code(wfbench: Run, policy: Path, tmp_path: Path) -> None:
    with np.load(policy) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    meta = json.loads(bytes(found.pop("meta")))
    meta["restore"] = "os:system"
    text = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    bad = tmp_path / "bad.npz"
    np.savez(bad, meta=text, **found)
    done = wfbench("evaluate", str(bad), "--episodes", "2")
    assert done.returncode == 2
    assert "neither wfbench's nor a loaded plugin's" in done.stderr


OTHER_PLACE = """
from wfbench.contract import EnvSpec, hookimpl
from wfbench_cage2.env import Cage2Env
from wfbench_cage2.options import Cage2Options


class Few(Cage2Env):
    def __init__(self, red="bline", episode_steps=100):
        super().__init__(red, episode_steps=episode_steps, actions="reduced")


def offer(name, factory):
    return EnvSpec(
        name=name, summary="Somewhere else", factory=factory, options=Cage2Options,
        horizon="episode_steps", capabilities=frozenset({"workflow", "true-state"}),
    )


@hookimpl
def wfbench_envs():
    return [
        offer("twin", "wfbench_cage2.env:Cage2Env"),
        offer("reduced", f"{__name__}:few"),
    ]


def few(red, episode_steps, **_):
    return Few(red, episode_steps)
"""


def test_a_stored_policy_plays_in_another_environment(
    wfbench: Run, policy: Path, tmp_path: Path
) -> None:
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/elsewhere.py").write_text(OTHER_PLACE)
    played = (
        *("--plugins-dir", tmp_path / "plugins", "evaluate", policy, "--episodes", "40"),
        *("--red", "bline", "--horizon", "30", "--json"),
    )
    twin = wfbench(*played, "--env", "twin")
    # The scalar form has the episodes of the batched one, but other seeds come first.
    own = wfbench(*played)
    assert json.loads(twin.stdout)["env"] == "twin"
    assert json.loads(own.stdout)["env"] == "cage2"
    there, here = (_cells(done)["bline", 30]["env_return"] for done in (twin, own))
    assert there == pytest.approx(here, rel=0.5)
    refused = wfbench(*played, "--env", "reduced")
    assert refused.returncode == 2
    assert "which has actions: 145, but reduced has" in refused.stderr
