"""Prove what a case collected: hashes of at least one whole episode of every environment."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

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
    for rollout, done in _with_ends(_rollouts(collector, policy, first), n_envs):
        hashes.append(_hash(rollout))
        marks += rollout.marks
        steps += len(rollout.actions)
        if done.all() or steps >= LONGEST:
            break
    return EpisodeProof(tuple(hashes), steps, int((~done).sum())), marks


def _rollouts(collector: Collector, policy: Policy, first: Rollout) -> Iterator[Rollout]:
    until = perf_counter() + _SECONDS
    yield first
    while perf_counter() < until:
        yield collector.collect(policy, len(first.actions))


def _with_ends(
    rollouts: Iterator[Rollout], n_envs: int
) -> Iterator[tuple[Rollout, NDArray[np.bool_]]]:
    """Yield each rollout and which environments have by then made a step after an end."""
    done, at_the_end = np.zeros(n_envs, np.bool_), np.zeros(n_envs, np.bool_)
    for rollout in rollouts:
        ended = np.zeros((len(rollout.actions), n_envs), np.bool_)
        ended[:, rollout.env_id] = rollout.ended
        done = done | at_the_end | ended[:-1].any(axis=0)
        at_the_end = ended[-1]
        yield rollout, done


def _hash(rollout: Rollout) -> str:
    """Return a hash of the transitions and of the observations with which episodes ended."""
    digest = hashlib.blake2b(rollout.transition_hash().encode(), digest_size=16)
    digest.update(np.ascontiguousarray(rollout.final_obs).tobytes())
    return digest.hexdigest()
