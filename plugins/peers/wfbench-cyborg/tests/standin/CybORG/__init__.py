"""A stand-in with the interface of the official simulator and rules of its own.

Like the original it draws from process-global random state, hands out live objects, and has hosts
without a list of sessions.
"""
# ruff: noqa: ARG002, N999, NPY002 (as the original has it)

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

HOSTS = [
    *("Defender", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Host0", "Op_Host1", "Op_Host2"),
    *("Op_Server0", "User0", "User1", "User2", "User3", "User4"),
]


class CybORG:
    def __init__(self, scenario_file, environment="sim", env_config=None, agents=None):
        assert environment == "sim"
        assert Path(scenario_file).read_text().startswith("# stand-in")
        self.red = agents["Red"]()
        self.address = random.getrandbits(32)
        self.state = {}

    def reset(self):
        self.state = {host: {} for host in HOSTS} | {"success": "UNKNOWN"}
        self.count = 0
        self.add_session("User0")

    def add_session(self, host):
        self.count += 1
        pid = int(np.random.randint(300, 32768))
        session = {"ID": self.count, "PID": pid, "Agent": "Red", "Username": "SYSTEM"}
        self.state[host].setdefault("Sessions", []).append(session)

    def end_sessions(self, host):
        if host != "User0":
            self.state[host]["Sessions"] = [{"ID": 0, "PID": 1, "Agent": "Blue"}]

    def red_turn(self):
        host = self.red.target(HOSTS)
        if host is not None:
            self.add_session(host)

    def get_agent_state(self, agent_name):
        assert agent_name == "True"
        return self.state
