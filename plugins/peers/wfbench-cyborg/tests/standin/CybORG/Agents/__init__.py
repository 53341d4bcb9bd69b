# ruff: noqa: ARG002, N999, S311 (as the original has it)
from __future__ import annotations

import random


class B_lineAgent:  # noqa: N801 (the simulator's name)
    def target(self, hosts):
        return hosts[7] if random.random() < 0.3 else None


class RedMeanderAgent:
    def target(self, hosts):
        return random.choice(hosts) if random.random() < 0.5 else None


class SleepAgent:
    def target(self, hosts):
        return None
