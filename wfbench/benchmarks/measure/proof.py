"""Prove what a case collected: hashes of at least one whole episode of every environment."""

from __future__ import annotations

import hashlib
from time import perf_counter

import numpy as np

from wfbench.benchmarks.measure.model import EpisodeProof
from wfbench.contract import Collector, Policy, Rollout

LONGEST = 1000
"""Steps of every environment after which a proof goes on no longer."""
_SECONDS = 20.0
"""Seconds after which it does not, for environments that are slow as well as long."""


def prove_episodes(
    collector: Collector, policy: Policy, first: Rollout, n_envs: int
) -> tuple[EpisodeProof, list[str]]:
    """Go on from the first rollout until a step follows an episode of every environment.

    Return the proof and the marks of the rollouts.
    """
    hashes: list[str] = []
    marks: list[str] = []
    steps = 0
    done = at_the_end = np.zeros(n_envs, np.bool_)
    until, rollout = perf_counter() + _SECONDS, first
    while True:
        hashes.append(_hash(rollout))
        marks += rollout.marks
        steps += len(rollout.actions)
        ended = np.zeros((len(rollout.actions), n_envs), np.bool_)
        ended[:, rollout.env_id] = rollout.ended
        done = done | at_the_end | ended[:-1].any(axis=0)
        at_the_end = ended[-1]
        if done.all() or steps >= LONGEST or perf_counter() >= until:
            return EpisodeProof(tuple(hashes), steps, int((~done).sum())), marks
        rollout = collector.collect(policy, len(first.actions))


def _hash(rollout: Rollout) -> str:
    """Return a hash of the transitions and of the observations with which episodes ended."""
    digest = hashlib.blake2b(rollout.transition_hash().encode(), digest_size=16)
    digest.update(np.ascontiguousarray(rollout.final_obs).tobytes())
    return digest.hexdigest()
