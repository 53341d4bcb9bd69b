# ruff: noqa: ARG002, N999, NPY002 (as the original has it)
from __future__ import annotations

import numpy as np

from CybORG import HOSTS


class ChallengeWrapper:
    def __init__(self, agent_name, env, max_steps=None):
        assert agent_name == "Blue"
        self.env = env

    def reset(self):
        self.env.reset()
        return self.observation(seen=False)

    def step(self, action=None):
        assert type(action) is int
        for base in (15, 132):
            if base <= action < base + len(HOSTS):
                self.env.end_sessions(HOSTS[action - base])
        self.env.red_turn()
        taken = [host for host in HOSTS if self.red_on(host)]
        reward = -0.1 * len(taken) - (1.0 if action >= 132 else 0.0)
        return self.observation(seen=True), reward, False, {}

    def red_on(self, host):
        return any(s["Agent"] == "Red" for s in self.env.state[host].get("Sessions", ()))

    def observation(self, *, seen):
        noise = np.random.random(len(HOSTS)) < 0.95
        rows = [
            [0, 0, 0, int(seen and self.red_on(h) and n)] for h, n in zip(HOSTS, noise, strict=True)
        ]
        return np.array(rows, dtype=np.int64).reshape(-1)
