"""The tables of the scenario, set by set, and the nested true state that is made of them."""

from __future__ import annotations

import numpy as np

from wfbench_cage2 import Cage2Env
from wfbench_cage2.lookup import ENABLED, ROOTED_COST, TOP_EXPLOIT, UNIT_MASK
from wfbench_cage2.tables import (
    DECOY,
    EXPLOITS,
    HOST_ID,
    HOSTS,
    NUM_ACTIONS,
    NUM_HOSTS,
    PORTS,
    REDUCED_ACTIONS,
    Decoy,
    Exploit,
    Unit,
    action_name,
)


def test_every_set_of_hosts_has_its_unit_types_and_its_cost():
    rng = np.random.default_rng(0)
    sets = {0, 1, 2**NUM_HOSTS - 2, 2**NUM_HOSTS - 1, *rng.integers(0, 2**NUM_HOSTS, 50).tolist()}
    assert len(UNIT_MASK) == len(ROOTED_COST) == 2**NUM_HOSTS
    for mask in sets:
        held = [host for index, host in enumerate(HOSTS) if mask >> index & 1]
        assert UNIT_MASK[mask] == sum(1 << unit for unit in {int(host.unit) for host in held})
        assert ROOTED_COST[mask] == sum(host.confidentiality for host in held)
    assert UNIT_MASK[-1] == 2 ** len(Unit) - 1
    assert ROOTED_COST[-1] == 48


def test_red_prefers_the_heaviest_exploit_that_open_ports_enable():
    assert [rule.weight for rule in EXPLOITS.values()] == [2, 1, 3, 4, 0.1, 5, 6, 7]
    ranked = (7, 6, 5, 3, 2, 0, 1, 4)
    for place, heavier in enumerate(ranked):
        for lighter in ranked[place:]:
            assert TOP_EXPLOIT[1 << heavier | 1 << lighter] == heavier
    assert TOP_EXPLOIT[0] == 0
    for place in range(len(PORTS)):
        alone = 0 if place == Exploit.SQL_INJECTION else 1 << place
        assert ENABLED[1 << place] == alone
        with_sql = 1 << Exploit.SQL_INJECTION if PORTS[place] in {80, 443} else 0
        assert ENABLED[1 << place | 1 << PORTS.index(3390)] == alone | with_sql


def test_actions_have_names_and_every_host_its_turn():
    names = [action_name(action) for action in range(NUM_ACTIONS)]
    assert len(set(names)) == NUM_ACTIONS
    assert [names[i] for i in (0, 1, 2, 14, 15, 27, 28, 131, 132, 144)] == [
        "Sleep",
        "Monitor",
        "Analyse Defender",
        "Analyse User4",
        "Remove Defender",
        "Remove User4",
        "DecoyApache Defender",
        "DecoyVsftpd User4",
        "Restore Defender",
        "Restore User4",
    ]
    macros = [HOSTS[-1 - action].name for action in REDUCED_ACTIONS if action < 0]
    assert len(REDUCED_ACTIONS) == 39
    assert macros == [name for name in HOST_ID if name not in {"User0", *_op_hosts()}]


def _op_hosts():
    return {host.name for host in HOSTS if host.unit is Unit.OP_HOST}


def test_the_true_state_is_the_same_in_every_version(golden):
    env = Cage2Env(red="bline", seed=4)
    env.reset()
    lines = []
    for step in range(24):
        env.step(DECOY + NUM_HOSTS * Decoy.TOMCAT + HOST_ID["User1"] if step == 2 else 0)
    truth = env.true_state()
    lines.append(f"success {truth.pop('success')}")
    for name in ("Defender", "Op_Server0", "User0", "User1", "User3"):
        for kind, entries in truth[name].items():
            lines += [
                f"{name} {kind} {one}"
                for one in (entries if isinstance(entries, list) else [entries])
            ]
    golden("true-state.txt", "\n".join(lines))
