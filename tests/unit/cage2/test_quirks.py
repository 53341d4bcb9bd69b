"""Each quirk that the specification marks with Q."""

from __future__ import annotations

import pytest

from wfbench_cage2.tables import ANALYSE, DECOY, REMOVE, RESTORE, Activity, Belief, Decoy, Success

NONE, SCAN, EXPLOIT = (0, 0), (1, 0), (1, 1)
ETERNAL_BLUE, BLUE_KEEP, HTTP_RFI, SSH = 0, 1, 2, 4
TRUE, FALSE = Success.TRUE, Success.FALSE


def decoy(kind: Decoy, host: int) -> int:
    return DECOY + 13 * kind + host


@pytest.mark.parametrize(("user", "enterprise"), [("User1", "Enterprise1"), ("User3", None)])
def test_eternal_blue_never_works_on_enterprise_hosts_and_leaves_no_event(
    scene, host, user, enterprise
):
    s = scene("bline")
    if enterprise:
        s.bline_to(4, host[user])
    else:
        enterprise = "Enterprise2"
        s.bline_to(8, host[user])
    s.step(exploit=ETERNAL_BLUE)
    target = host[enterprise]
    assert s.red_host == target
    assert s.red_success == FALSE
    assert s.activity(target) == NONE
    assert not s.owned[target]
    assert not s.mal[target]


def test_blue_keep_never_works_on_user3_and_leaves_no_event(scene, host):
    s = scene("bline").bline_to(1, host["User3"])
    s.step(exploit=BLUE_KEEP)
    assert s.red_success == FALSE
    assert s.activity(host["User3"]) == NONE
    assert not s.owned[host["User3"]]


def test_remove_says_true_even_if_it_did_nothing(scene, host):
    s = scene("sleep").step(REMOVE + host["User1"])
    assert s.blue_success == TRUE
    assert s.ended_session == 0


def test_any_reverse_shell_drops_a_file_that_remove_does_not_delete(scene, host):
    user = host["User2"]
    s = scene("bline").bline_to(1, user)
    s.step(exploit=BLUE_KEEP, detect=1)
    assert (s.sus[user], s.root[user], s.mal[user]) == (1, 0, 1)
    s.step(REMOVE + user)
    assert s.ended_session == 1
    assert (s.sus[user], s.mal[user]) == (0, 1)
    s.step(ANALYSE + user, exploit=BLUE_KEEP, detect=0)
    assert s.belief(user) == Belief.PRIVILEGED


def test_ssh_brute_force_drops_no_file_and_is_never_suspicious(scene, host):
    user = host["User1"]
    s = scene("bline").bline_to(1, user)
    s.step(exploit=SSH)
    assert (s.sus[user], s.oth[user], s.mal[user]) == (0, 1, 0)
    assert s.detect == -1
    assert s.activity(user) == EXPLOIT


def test_restore_of_op_server_forgets_the_ot_process(scene, host):
    s = scene("sleep")
    assert s.ot_pid == 1
    s.step(RESTORE + host["Op_Server0"])
    assert (s.ot_pid, s.ot_active, s.ot_stopped) == (0, 1, 0)


def test_vsftpd_checks_port_21_but_opens_port_80(scene, host):
    target = host["Op_Host0"]
    s = scene("sleep")
    for count in (1, 2, 3):
        s.step(decoy(Decoy.VSFTPD, target))
        assert s.blue_success == TRUE
        assert s.vsftpd[target] == count
    s.step(decoy(Decoy.APACHE, target))
    assert s.blue_success == FALSE
    s.step(RESTORE + target)
    s.step(decoy(Decoy.APACHE, target))
    assert s.blue_success == TRUE
    s.step(decoy(Decoy.VSFTPD, target))
    assert s.blue_success == TRUE


def test_vsftpd_defeats_nothing_where_the_real_web_server_runs(scene, host):
    user = host["User4"]
    s = scene("bline").bline_to(1, user, {0: decoy(Decoy.VSFTPD, user)})
    assert s.dec[user] == 1 << Decoy.VSFTPD
    s.step(exploit=HTTP_RFI, detect=1)
    assert s.red_success == TRUE


def test_scan_of_an_unreachable_operational_host_is_true_but_empty(scene, host):
    server = host["Op_Server0"]
    blue = {10: RESTORE + host["Enterprise1"], 11: RESTORE + host["Enterprise2"]}
    s = scene("bline").bline_to(11, host["User1"], blue)
    assert s.red_host == server
    assert s.red_success == TRUE
    assert not s.rscan[server]
    assert s.rports[server] == 0
    assert s.activity(server) == NONE


def test_bline_starts_over_when_the_first_scan_of_op_server_came_back_empty(scene, host):
    blue = {10: RESTORE + host["Enterprise1"], 11: RESTORE + host["Enterprise2"]}
    s = scene("bline").bline_to(11, host["User1"], blue)
    s.step()
    assert (s.bline_a, s.bline_has12) == (1, 0)
    assert s.red_host == s.bline_u == host["User1"]


def test_bline_issues_the_exploit_anyway_once_index_12_has_been_issued(scene, host):
    s = scene("bline").bline_to(12, host["User1"])
    s.put("bline_a", 11)
    s.put("red_success", TRUE)
    s.put("scan_empty", 1)
    for enterprise in ("Enterprise1", "Enterprise2"):
        s.put("root", 0, host[enterprise])
    s.step()
    assert s.bline_a == 12
    assert s.red_success == FALSE
    s.step()
    assert s.bline_a == 9


@pytest.mark.parametrize("planting", [True, False])
def test_decoy_hit_reads_exploit_only_if_a_decoy_is_planted_there_at_the_same_moment(
    scene, host, planting
):
    user = host["User1"]
    s = scene("bline").bline_to(1, user, {0: decoy(Decoy.SVCHOST, user)})
    s.step(decoy(Decoy.TOMCAT, user) if planting else 0, exploit=BLUE_KEEP)
    assert s.red_success == FALSE
    assert s.detect == -1
    assert not s.owned[user]
    assert s.activity(user) == (EXPLOIT if planting else SCAN)
    assert s.belief(user) == (Belief.USER if planting else Belief.NO)


def test_decoy_planted_elsewhere_or_in_vain_does_not_turn_a_scan_into_an_exploit(scene, host):
    user = host["User1"]
    for action in (decoy(Decoy.TOMCAT, host["User0"]), decoy(Decoy.SVCHOST, user)):
        s = scene("bline").bline_to(1, user, {0: decoy(Decoy.SVCHOST, user)})
        s.step(action, exploit=BLUE_KEEP)
        assert s.alert == Activity.SCAN


def test_impact_needs_only_a_user_level_session_once_the_ot_service_is_known(scene, host):
    server = host["Op_Server0"]
    s = scene("bline").bline_to(13, host["User1"])
    s.put("root", 0, server)
    s.put("oth", 1, server)
    s.step()
    assert (s.red_type, s.red_success, s.ot_stopped) == (5, TRUE, 1)


def test_impact_after_a_restore_of_op_server_answers_true_but_costs_nothing(scene, host):
    s = scene("bline").bline_to(14, host["User1"], {0: RESTORE + host["Op_Server0"]})
    assert s.red_success == TRUE
    assert (s.ot_active, s.ot_stopped) == (0, 0)
    assert s.reward > -10


def test_impact_costs_ten_per_step_until_restore_whether_red_repeats_it_or_not(scene, host):
    s = scene("bline").bline_to(14, host["User1"])
    assert s.ot_stopped == 1
    first = s.reward
    assert first <= -10
    assert s.step().reward == first
    s.step(RESTORE + host["Op_Server0"])
    assert s.ot_stopped == 0


def test_meander_never_exploits_an_operational_host_it_scanned_without_access(scene, host):
    target = host["Op_Host0"]
    s = scene("meander")
    s.step()
    s.put("kip", sum(1 << h for h in (target, *range(8, 13))))
    s.step(pick=target)
    assert (s.red_type, s.red_success) == (2, TRUE)
    assert s.mdr_p[target]
    assert not s.rscan[target]
    s.put("root", 1, host["Enterprise0"])
    for user in range(8, 13):
        s.step(pick=user)
        assert s.red_type == 2
    s.step(pick=host["User0"])
    assert s.red_type == 4
    s.step(pick=target)
    assert (s.red_type, s.red_success, s.exploit) == (3, FALSE, -1)


def test_exploit_alert_lowers_a_privileged_belief_to_user(scene, host):
    user = host["User2"]
    s = scene("bline").bline_to(2, user)
    s.put("comp", Belief.PRIVILEGED, user)
    s.put("bline_a", 1)
    s.step(exploit=ETERNAL_BLUE, detect=1)
    assert s.alert == Activity.EXPLOIT
    assert s.belief(user) == Belief.USER


def test_analyse_never_clears_a_belief(scene, host):
    user = host["User1"]
    s = scene("sleep")
    for belief in (Belief.UNKNOWN, Belief.USER, Belief.PRIVILEGED):
        s.put("comp", belief, user)
        s.step(ANALYSE + user)
        assert s.belief(user) == belief


def test_analyse_sees_the_files_of_blues_turn_not_those_of_reds(scene, host):
    user = host["User2"]
    s = scene("bline").bline_to(1, user)
    s.step(ANALYSE + user, exploit=ETERNAL_BLUE, detect=1)
    assert s.belief(user) == Belief.USER
    s.step(ANALYSE + user)
    assert s.belief(user) == Belief.PRIVILEGED


def test_foothold_survives_remove_and_restore(scene, host):
    foothold = host["User0"]
    s = scene("sleep")
    for action in (REMOVE, RESTORE):
        s.step(action + foothold)
        assert s.root[foothold] == 1
        assert s.ended_session == 0
