"""Notes kept from observations and own actions alone equal those of the kernel, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench.policies import Notes
from wfbench_cage2 import Cage2Env
from wfbench_cage2.kernel import load_replay, start_state
from wfbench_cage2.layout import AT
from wfbench_cage2.replay import trace_files
from wfbench_cage2.rules_blue import WITH_HISTORY, WITH_MEMORY
from wfbench_cage2.tables import HISTORY_PERIODS, MEMORY_STEPS, PERIOD_STEPS, RED_NAMES, Red
from wfbench_cage2.workflow import form

TAPE = ("red_host", "exploit", "detect", "esc_sus")
FORMS = [
    (True, "all", False),
    (False, "reduced", False),
    (True, "reduced", False),
    (True, "reduced", True),
]


def test_recorded_episodes_replayed_through_both_give_the_same_notes(data):
    info, _ = form(memory=True, actions="all", history=True)
    notes = Notes(info.workflow.notes)
    count = slice(WITH_MEMORY - MEMORY_STEPS, WITH_MEMORY)
    period = slice(WITH_HISTORY - HISTORY_PERIODS, WITH_HISTORY)
    compared = 0
    for path in trace_files(data / "traces"):
        red = Red(RED_NAMES.index(path.name.split("__")[0]))
        with np.load(path) as trace:
            actions = trace["blue_action"]
            shown, first = (trace[name].astype(np.uint8) for name in ("obs", "obs_reset"))
            tapes = np.stack([trace[name] for name in TAPE], axis=-1).astype(np.int8)
        steps = actions.shape[1]
        kernel = np.empty((steps, *info.obs_shape), dtype=np.uint8)
        noted = np.empty_like(kernel)
        for episode in range(len(actions)):
            state, _ = start_state(red)
            notes.begin(first[episode])
            for t, action in enumerate(actions[episode].tolist()):
                load_replay()(state, action, tapes[episode, t], kernel[t])
                notes.act(action)
                noted[t] = notes.observe(shown[episode, t])
            made = np.arange(steps) + 1
            counted = np.minimum(made, MEMORY_STEPS - 1)
            assert np.array_equal(noted[:, count].argmax(axis=1), counted)
            passed = np.minimum(made // PERIOD_STEPS, HISTORY_PERIODS - 1)
            assert np.array_equal(noted[:, period].argmax(axis=1), passed)
            # The kernel's replay does not count steps; played episodes compare that.
            for place in (count, period):
                assert not kernel[:, place].argmax(axis=1).any()
                noted[:, place] = kernel[:, place]
            assert np.array_equal(noted, kernel)
            compared += steps
    assert compared == 68_000


@pytest.mark.parametrize(("memory", "actions", "history"), FORMS)
@settings(max_examples=40)
@given(
    red=st.sampled_from(["bline", "meander", "mixed"]),
    seed=st.integers(0, 2**64 - 1),
    rng=st.randoms(use_true_random=False),
)
def test_played_episodes_are_those_of_the_plain_environment_with_notes(
    memory, actions, history, red, seed, rng
):
    rich = Cage2Env(red=red, memory=memory, actions=actions, history=history, episode_steps=40)
    plain = Cage2Env(red=red, episode_steps=40)
    notes = Notes(rich.workflow.notes)
    for episode in range(2):
        chosen_seed = seed if episode == 0 else None
        wanted, _ = rich.reset(seed=chosen_seed)
        assert np.array_equal(notes.begin(plain.reset(seed=chosen_seed)[0]), wanted)
        for _ in range(40):
            action = rng.randrange(int(rich.action_space.n))
            wanted, reward, *_, info = rich.step(action)
            meant = notes.act(action)
            assert meant == info["state"][AT.blue_action]
            obs, same, *_ = plain.step(meant)
            assert same == reward
            assert np.array_equal(notes.observe(obs), wanted)


def test_the_plain_form_has_no_notes():
    assert Cage2Env().workflow.notes is None
    model = Cage2Env(memory=True).workflow.notes
    assert 52 + model.size == form(memory=True, actions="all")[0].obs_shape[0]
