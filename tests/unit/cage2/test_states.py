"""States that are chosen field by field: the start of an episode, and what play hardly reaches."""

from __future__ import annotations

import numpy as np
import pytest

from wfbench_cage2 import layout, lookup
from wfbench_cage2.draws import RED_AGENT, step_key, uniform
from wfbench_cage2.kernel import draw_red, start_state
from wfbench_cage2.rules_blue import COUNT_LIMIT
from wfbench_cage2.tables import (
    ANALYSE,
    BLINE_FALLBACK,
    DECOY,
    HOST_ID,
    HOSTS,
    NUM_ACTIONS,
    NUM_HOSTS,
    REMOVE,
    Belief,
    Decoy,
    Red,
    Subnet,
    Success,
    action_name,
)
from wfbench_cage2.workflow import WORKFLOW, form

DEFENDER = HOST_ID["Defender"]
BLUE_KEEP, SSH = 1, 4


@pytest.mark.parametrize("red", Red)
def test_an_episode_starts_with_the_foothold_alone(red):
    state, obs = start_state(red)
    nobody = ("bline_u", "mdr_last_x", "mdr_last_h", "last_alarm", "earlier_alarm", "alert_host")
    none_yet = ("blue_action", "red_host", "red_subnet", "planted", "exploit", "detect", "esc_sus")
    wanted = dict.fromkeys((*nobody, *none_yet), -1)
    wanted |= {"ot_active": 1, "ot_pid": 1, "red_success": Success.UNKNOWN, "red": red}
    for name, found in layout.unpack(state).items():
        if name in {"root", "owned", "rooted", "kip", "khost"}:
            assert found.tolist() == [host.name == "User0" for host in HOSTS], name
        elif name == "ksub":
            assert found.tolist() == [subnet == Subnet.USER for subnet in Subnet]
        else:
            assert np.all(found == wanted.get(name, 0)), name
    assert obs.shape == (52,)
    assert not obs.any()


def test_the_red_agent_of_an_episode_is_the_first_whose_share_exceeds_the_draw():
    with np.errstate(over="ignore"):
        draw = float(uniform(step_key(np.uint64(9), 4, -1), RED_AGENT))
        assert draw == 0.5675091524783888
        for shares, red in (
            ((0.6, 1.0, 1.0), Red.BLINE),
            ((np.nextafter(draw, 1.0), 1.0, 1.0), Red.BLINE),
            ((draw, 1.0, 1.0), Red.MEANDER),
            ((0.1, 0.9, 1.0), Red.MEANDER),
            ((0.0, 0.5, 1.0), Red.SLEEP),
        ):
            assert draw_red(np.uint64(9), 4, np.array(shares)) == red


def test_outcomes_that_are_not_on_the_tape_are_those_of_key_0(scene):
    s = scene("meander").step().step()
    with np.errstate(over="ignore"):
        assert s.red_host == 8 + int(5 * uniform(np.uint64(0), 0)) == 12


def test_removing_and_analysing_reach_the_first_host(scene):
    s = scene("sleep")
    s.put("sus", 1, DEFENDER)
    s.step(REMOVE + DEFENDER)
    assert (s.ended_session, s.sus[DEFENDER], s.owned[DEFENDER]) == (1, 0, 0)
    s.put("mal", 1 << DEFENDER)
    s.step(ANALYSE + DEFENDER)
    assert s.analysed == DEFENDER
    assert s.belief(DEFENDER) == Belief.PRIVILEGED


def test_counts_stop_before_they_overflow(scene, host):
    user, server = host["User2"], host["Op_Server0"]
    s = scene("bline").bline_to(1, user)
    s.put("sus", COUNT_LIMIT - 1, user)
    for _ in range(2):
        s.step(exploit=BLUE_KEEP, detect=1)
        s.put("bline_a", 1)
        assert s.sus[user] == COUNT_LIMIT
    s = scene("sleep")
    s.put("vsftpd", COUNT_LIMIT - 1, server)
    for _ in range(2):
        s.step(DECOY + NUM_HOSTS * Decoy.VSFTPD + server)
        assert (s.blue_success, s.vsftpd[server]) == (Success.TRUE, COUNT_LIMIT)


def test_where_bline_continues_after_every_action_that_did_not_succeed(scene, host):
    found = []
    for index in range(len(BLINE_FALLBACK)):
        s = scene("bline").bline_to(1, host["User1"])
        s.put("bline_a", index)
        s.put("red_success", Success.FALSE)
        found.append(s.step(exploit=SSH if index in {2, 3, 4, 5} else -2).bline_a)
    assert found == [0, 1, 2, 2, 2, 2, 5, 5, 5, 5, 9, 9, 9, 12, 13]


def test_meander_forgets_a_first_host_that_it_could_not_escalate(scene):
    s = scene("meander")
    s.put("mdr_last_h", DEFENDER)
    s.put("mdr_l", 1 << DEFENDER)
    s.put("mdr_m", 1 << DEFENDER)
    s.put("mdr_x", 1 << DEFENDER)
    s.put("red_success", Success.FALSE)
    s.step()
    assert (s.mdr_last_h, s.mdr_l[DEFENDER], s.mdr_x[DEFENDER]) == (-1, 0, 0)


@pytest.mark.parametrize(("sessions", "impossible"), [(("sus",), 0), (("oth",), 1)])
def test_only_a_session_that_is_there_can_become_root(scene, host, sessions, impossible):
    user = host["User1"]
    s = scene("bline").bline_to(1, user)
    for name in sessions:
        s.put(name, 1, user)
    s.put("bline_a", 2)
    s.put("red_success", Success.TRUE)
    with pytest.raises(AssertionError, match="was not among the possible ones"):
        s.step(escalate=impossible)
    assert s.esc_sus == 1 - impossible


def test_an_escalation_reveals_the_host_and_its_next_hop():
    revealed = [[h for h in range(NUM_HOSTS) if mask >> h & 1] for mask in lookup.REVEALED]
    hops = {"Enterprise2": 7, "User1": 2, "User2": 2, "User3": 1, "User4": 1}
    for h, host in enumerate(HOSTS):
        assert revealed[h] == sorted({h, hops.get(host.name, h)})


@pytest.mark.parametrize("actions", ["all", "reduced"])
def test_which_host_an_action_fixes(actions):
    info, table = form(memory=False, actions=actions)
    assert info.batched
    for meaning, fixed in zip(table.tolist(), info.workflow.fix_host, strict=True):
        kind, _, name = action_name(meaning).partition(" ") if meaning >= 0 else ("", "", "")
        assert fixed == (HOST_ID[name] if kind in {"Remove", "Restore"} else -1)
    assert len(WORKFLOW.fix_host) == NUM_ACTIONS
