"""Compiled passes against torch: the same gradients, for any shape, input and number of threads."""

from __future__ import annotations

import subprocess
import sys
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench.contract import UsageError
from wfbench.policies.elementary import tangents
from wfbench_trainers.adam import Adam
from wfbench_trainers.batch import Batch
from wfbench_trainers.compiled_backend import CompiledBackend, _shares
from wfbench_trainers.compiling import compiled
from wfbench_trainers.crew import Crew
from wfbench_trainers.documented import DocumentedPpo
from wfbench_trainers.networks import ActorCritic, orthogonal
from wfbench_trainers.objective import Transitions, Weighting
from wfbench_trainers.options import DocumentedOptions, PpoOptions
from wfbench_trainers.ppo import Ppo
from wfbench_trainers.torch_backend import TorchBackend

ORDER = (1, 0, 2, 3, 4)
LEARNERS = [DocumentedPpo, Ppo]
EPS = float(np.finfo(np.float32).eps)
WEIGHTING = Weighting(0.2, 0.5, 0.01)


class Case:
    """Networks, a batch for them, and everything else a gradient needs."""

    def __init__(self, seed, *, rows, inputs, seen, hidden, actions, condition, count, bits):
        rng = np.random.default_rng(seed)
        self.condition = rng.integers(0, 2, condition).astype(np.float32)
        self.network = ActorCritic(inputs + condition, actions, hidden, seen)
        orthogonal(self.network, rng)
        self.network.flat += rng.normal(0, 0.05, self.network.flat.size).astype(np.float32)

        def drawn(width):
            numbers = rng.random((rows, width)) < 0.2 if bits else rng.normal(0, 1, (rows, width))
            return numbers.astype(np.float32)

        seen_rows = drawn(inputs)
        value_rows = drawn(inputs + seen) if seen else seen_rows
        row = rng.integers(0, rows, count)
        value_row = rng.integers(0, rows, count) if seen else row
        action = rng.integers(0, actions, count)
        (first, biases), *rest = self.network.actor
        logits = seen_rows @ first[:, :inputs].T + first[:, inputs:] @ self.condition + biases
        for weights, biases in rest:
            logits = np.tanh(logits) @ weights.T + biases
        old = torch.log_softmax(torch.tensor(logits), 1).numpy()[row, action]
        # Ratios stay far from the ends of their range: nothing depends on which side they are of.
        away = rng.choice([-0.5, -0.1, 0.1, 0.5], count).astype(np.float32)
        fresh = np.zeros(count, dtype=np.bool_)
        data = Transitions(row, value_row, action, old + away, fresh)
        self.batch = Batch(seen_rows, value_rows, data)
        self.targets, self.gains = rng.normal(0, 1, (2, count)).astype(np.float32)
        self.chosen = rng.permutation(count)[: max(1, count // 2)]
        # A running sum of n shares of size 1/n at random reaches 1/sqrt(n). Its n roundings are of
        # that size and add up to one rounding of 1, whatever n is: more shares shrink nothing.
        values = self.torch().values(value_rows, self.condition)
        parts = (self.gains, self.targets, values)
        self.scale = 1.0 + sum(float(np.abs(part).max()) for part in parts)

    def gradient(self, backend, *, gains=True, chosen=True):
        self.network.gradient[:] = np.nan
        parts = backend.differentiate(
            self.batch,
            self.chosen if chosen else None,
            self.condition,
            self.targets,
            self.gains if gains else None,
            WEIGHTING,
        )
        return parts, list(self.network.named(self.network.gradient.copy()).values())

    def compiled(self, threads=1):
        return CompiledBackend(self.network, len(self.condition), threads)

    def torch(self):
        return TorchBackend(self.network, "cpu", 1)


shapes = st.fixed_dictionaries(
    {
        "rows": st.integers(1, 700),
        "inputs": st.integers(1, 150),
        "seen": st.sampled_from([0, 1, 48]),
        "hidden": st.sampled_from([1, 5, 16, 33, 64]),
        "actions": st.integers(1, 60),
        "condition": st.sampled_from([0, 25]),
        "count": st.integers(1, 1500),
        "bits": st.booleans(),
    }
)


def assert_close(found, wanted, depth, scale=0.0):
    """Compare two gradients of the same float32 arithmetic in another order.

    A sum of n numbers is off by at most n roundings of the sum of their sizes; errors that add up
    at random reach sqrt(n) of them, and a gradient goes through about ten sums. What is left may be
    the small difference of large numbers: it is measured by the largest number of its tensor, and
    by `scale`, the size of what the objective subtracts from each other.
    """
    bound = min(1e-4, 10 * EPS * np.sqrt(depth))
    for ours, theirs in zip(found, wanted, strict=True):
        assert np.abs(ours - theirs).max() <= bound * np.abs(theirs).max() + 2 * EPS * scale


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), shape=shapes, gains=st.booleans(), chosen=st.booleans())
def test_gradients_are_those_of_torch(seed, shape, gains, chosen):
    case = Case(seed, **shape)
    wanted_parts, wanted = case.gradient(case.torch(), gains=gains, chosen=chosen)
    parts, found = case.gradient(case.compiled(), gains=gains, chosen=chosen)
    assert_close(found, wanted, 64 * 64 + shape["count"], case.scale)
    for name, number in vars(parts).items():
        assert number == pytest.approx(getattr(wanted_parts, name), rel=1e-4, abs=1e-6)


def some_case(**changes):
    shape = {
        "rows": 1500,
        "inputs": 60,
        "seen": 48,
        "hidden": 64,
        "actions": 39,
        "condition": 25,
        "count": 4000,
        "bits": True,
    }
    return Case(7, **(shape | changes))


@pytest.mark.parametrize("bits", [True, False])
@pytest.mark.parametrize("gains", [True, False])
@pytest.mark.parametrize("threads", [2, 8])
def test_threads_change_no_bit(bits, gains, threads):
    case = some_case(bits=bits)
    one, many = case.compiled(), case.compiled(threads)
    parts, wanted = case.gradient(one, gains=gains)
    with many.at_work():
        for _ in range(3):
            other, found = case.gradient(many, gains=gains)
            assert other == parts
            for ours, theirs in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(ours, theirs)
        rows = case.batch.value_rows
        np.testing.assert_array_equal(
            many.values(rows, case.condition), one.values(rows, case.condition)
        )


@pytest.mark.parametrize("bits", [True, False])
def test_values_are_those_of_torch(bits):
    case = some_case(bits=bits)
    rows = case.batch.value_rows
    wanted = case.torch().values(rows, case.condition)
    np.testing.assert_allclose(
        case.compiled().values(rows, case.condition), wanted, atol=100 * EPS * np.abs(wanted).max()
    )


def test_a_planted_error_is_found():
    case = some_case()
    _, wanted = case.gradient(case.torch())
    for place in range(len(wanted)):
        wrong = [array.copy() for array in wanted]
        wrong[place][np.unravel_index(np.abs(wrong[place]).argmax(), wrong[place].shape)] *= 1.01
        with pytest.raises(AssertionError):
            assert_close(wrong, wanted, 64 * 64 + 4000, case.scale)


def test_steps_are_those_of_torch():
    rng = np.random.default_rng(4)
    network = ActorCritic(20, 7, 16)
    network.flat[:] = rng.normal(0, 1, network.flat.size)
    theirs = [torch.nn.Parameter(torch.tensor(a)) for a in network.named(network.flat).values()]
    optimiser = torch.optim.Adam(theirs, 0.002, betas=(0.9, 0.99))
    ours = Adam(network, 0.002, (0.9, 0.99))
    for limit in (np.inf, 1e-3, 1e-2, 1e9):
        network.gradient[:] = rng.normal(0, 1, network.flat.size)
        for weight, gradient in zip(theirs, network.named(network.gradient).values(), strict=True):
            weight.grad = torch.tensor(gradient)
        norm = torch.nn.utils.clip_grad_norm_(theirs[:6], limit)
        torch.nn.utils.clip_grad_norm_(theirs[6:], limit)
        optimiser.step()
        # Sums of squares in another order, then a division and a product: a few roundings.
        assert ours.step(limit) == pytest.approx(norm.item(), rel=100 * EPS)
    wanted = np.concatenate([weight.detach().numpy().reshape(-1) for weight in theirs])
    # Four steps of at most the rate each, off by as many roundings, and one of the weight itself.
    np.testing.assert_allclose(network.flat, wanted, rtol=4 * EPS, atol=4 * 0.002 * 100 * EPS)
    kept = {
        f"optimiser.{number}.{name}": array.numpy()
        for number, moments in optimiser.state_dict()["state"].items()
        for name, array in moments.items()
    }
    assert kept.keys() == ours.state().keys()
    again = Adam(network, 0.002, (0.9, 0.99))
    again.load(kept)
    for name, array in again.state().items():
        np.testing.assert_array_equal(array, kept[name])
        np.testing.assert_allclose(ours.state()[name], array, rtol=100 * EPS, atol=100 * EPS)


@pytest.mark.parametrize(("size", "limit"), [(1e-7, 1e-9), (1e-3, 1e-6)])
def test_a_gradient_next_to_nothing_is_clipped_as_torch_does(size, limit):
    """After the first step the mean is a tenth of the clipped gradient."""
    network = ActorCritic(3, 2, 4)
    network.gradient[:] = np.random.default_rng(1).normal(0, size, network.flat.size)
    adam = Adam(network, 0.002, (0.9, 0.99))
    adam.step(limit)
    for part in network.parts:
        gradient = torch.tensor(network.gradient[part].copy())
        parameter = torch.nn.Parameter(torch.zeros_like(gradient))
        parameter.grad = gradient
        torch.nn.utils.clip_grad_norm_([parameter], limit)
        wanted = 0.1 * parameter.grad.numpy()
        np.testing.assert_allclose(adam._moments[0][part], wanted, rtol=100 * EPS)


@pytest.mark.parametrize(
    ("rows", "shares"),
    [
        (1, [1]),
        (64, [64]),
        (256, [256]),
        (257, [128, 257]),
        (320, [128, 320]),
        (768, [256, 512, 768]),
        (1000, [256, 512, 768, 1000]),
        (1100, [256, 576, 832, 1100]),
        (6400, [1600, 3200, 4800, 6400]),
    ],
)
def test_rows_are_shared_out_alike_in_every_version(rows, shares):
    """Gradients are added up by share: others would change the last bits of every result."""
    firsts = [0, *shares][: len(shares)]
    assert _shares(rows) == list(zip(firsts, shares, strict=True))


def test_rows_of_the_last_two_calls_are_kept_and_no_others():
    case = some_case()
    backend, rows = case.compiled(), []
    for _ in range(4):
        drawn = case.batch.value_rows.copy()
        rows.append(weakref.ref(drawn))
        backend.values(drawn, case.condition)
        del drawn
    assert [one() is not None for one in rows] == [False, False, True, True]


def test_tangents_are_exact_to_float32():
    x = np.concatenate([np.linspace(-12, 12, 40_001), np.geomspace(1e-30, 1, 2_000)])
    found = x.astype(np.float32)
    wanted = np.tanh(found.astype(np.float64))
    run = compiled(tangents)
    run(found, len(found))
    assert (np.abs(found - wanted) <= 5 * EPS * np.abs(wanted)).all()
    odd = np.array([np.nan, np.inf, -np.inf], dtype=np.float32)
    run(odd, 3)
    assert np.isnan(odd[0])
    np.testing.assert_allclose(odd[1:], [1, -1], rtol=1e-6)


@pytest.mark.parametrize("learner", LEARNERS)
def test_both_backends_learn_the_same(ground, weights, learner):
    g = ground()
    ours, theirs = learner(g.setup, backend="compiled"), learner(g.setup, backend="torch")
    for trainer in (ours, theirs):
        trainer.start(ORDER)
    for _ in range(3):
        rollout = g.rollout(theirs)
        found = [t.update(rollout, rollout.rewards).values for t in (ours, theirs)]
        for name, number in found[1].items():
            assert found[0][name] == pytest.approx(number, rel=1e-3, abs=1e-4), name
        np.testing.assert_allclose(weights(ours), weights(theirs), atol=1e-4)


@pytest.mark.parametrize("learner", LEARNERS)
def test_training_is_the_same_bit_for_bit_with_any_number_of_threads(ground, weights, learner):
    ends = []
    for threads in (1, 2, 8):
        g = ground()
        trainer = learner(g.setup, threads=threads)
        trainer.start(ORDER)
        for _ in range(3):
            rollout = g.rollout(trainer, 100)
            trainer.update(rollout, rollout.rewards)
        ends.append(weights(trainer))
    assert (ends[0] == ends[1]).all()
    assert (ends[0] == ends[2]).all()


def test_no_thread_outlives_an_update(ground):
    before = threading.active_count()
    g = ground()
    trainer = Ppo(g.setup, threads=8)
    trainer.start(ORDER)
    rollout = g.rollout(trainer)
    trainer.update(rollout, rollout.rewards)
    assert threading.active_count() == before
    with pytest.raises(ValueError, match="broken"), Crew(3).at_work():
        raise ValueError("broken")
    assert threading.active_count() == before


def test_what_a_task_raises_is_raised_after_all_threads_are_done():
    done = []

    def task(number):
        def run(_thread):
            if number == 3:
                raise ValueError("third")
            done.append(number)

        return run

    crew = Crew(4)
    with crew.at_work():
        with pytest.raises(ValueError, match="third"):
            crew.run([task(number) for number in range(20)])
        crew.run([task(number) for number in range(100, 120)])
    assert set(range(100, 120)) <= set(done)


def test_backends_are_chosen_and_refused(ground):
    setup = ground().setup
    assert isinstance(Ppo(setup)._backend, CompiledBackend)
    assert isinstance(Ppo(setup, backend="torch")._backend, TorchBackend)
    for kind in (DocumentedOptions, PpoOptions):
        with pytest.raises(ValueError, match="backend is 'none'"):
            kind(backend="none")
    with pytest.raises(UsageError, match="backend=compiled needs --device cpu, not meta"):
        Ppo(replace(setup, device="meta"), backend="compiled")


def test_compiled_passes_learn_without_torch():
    code = (
        "import sys\n"
        "from wfbench.contract import EnvInfo, TrainerSetup\n"
        "from wfbench_trainers.ppo import Ppo\n"
        "import numpy as np\n"
        "info = EnvInfo(obs_shape=(4,), obs_dtype='uint8', num_actions=3)\n"
        "Ppo(TrainerSetup(info, seed=1, expected_updates=1)).start((0,))\n"
        "print('torch' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert out.stdout.strip() == "False"


def test_helpers_work_beside_the_caller():
    both, crew = threading.Barrier(2), Crew(2)
    with crew.at_work():
        crew.run([lambda _thread: both.wait(30)] * 2)
        with crew.at_work():
            crew.run([lambda _thread: both.wait(30)] * 2)
        crew.run([lambda _thread: both.wait(30)] * 2)
    assert not [one for one in threading.enumerate() if one.name.startswith("learner")]
