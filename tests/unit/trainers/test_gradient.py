"""The gradient of an update, asked for without making the update."""

from __future__ import annotations

import numpy as np
import torch

from wfbench_trainers.documented import DocumentedPpo

ORDER = (1, 0, 2, 3, 4)


def flat(gradient):
    return np.concatenate([gradient[name].reshape(-1) for name in sorted(gradient)])


def test_asking_for_the_gradient_changes_nothing(ground):
    g = ground()
    asked, other = DocumentedPpo(g.setup), DocumentedPpo(g.setup)
    for trainer in (asked, other):
        trainer.start(ORDER)
    rollout = g.rollout(asked)
    first = asked.gradient(rollout, rollout.rewards)
    second = asked.gradient(rollout, rollout.rewards)
    np.testing.assert_array_equal(flat(first), flat(second))
    for trainer in (asked, other):
        trainer.update(rollout, rollout.rewards)
    for name, array in asked.state().items():
        np.testing.assert_array_equal(array, other.state()[name])


def test_distinct_rows_give_the_same_gradient_as_every_transition(ground):
    g = ground()
    grouped, plain = DocumentedPpo(g.setup), DocumentedPpo(g.setup, distinct=False)
    for trainer in (grouped, plain):
        trainer.start(ORDER)
    rollout = g.rollout(grouped)
    found = flat(grouped.gradient(rollout, rollout.rewards))
    np.testing.assert_allclose(found, flat(plain.gradient(rollout, rollout.rewards)), atol=1e-6)
    assert np.linalg.norm(found) > 1e-3


def test_it_is_the_gradient_of_the_loss_of_the_documents(ground, torch_networks):
    # At the policy that acted the ratio is 1: the surrogate is that of plain policy gradient.
    g = ground()
    trainer = DocumentedPpo(g.setup)
    trainer.start(ORDER)
    rollout = g.rollout(trainer, 20)
    found = trainer.gradient(rollout, rollout.rewards)

    returns = np.zeros_like(rollout.rewards, dtype=np.float64)
    running = np.zeros(rollout.rewards.shape[1])
    for t in reversed(range(20)):
        running = rollout.rewards[t] + 0.99 * np.where(rollout.ended[t], 0.0, running)
        returns[t] = running
    targets = (returns - returns.mean()) / (returns.std(ddof=1) + 1e-7)
    targets = torch.tensor(targets.reshape(-1), dtype=torch.float32)
    obs = rollout.obs.reshape(rollout.transitions, -1).astype(np.float32)
    code = np.tile(trainer.condition, (len(obs), 1))
    inputs = torch.tensor(np.concatenate([obs, code], axis=1))
    network = torch_networks(trainer)
    choice = torch.distributions.Categorical(logits=network["actor"](inputs))
    values = network["critic"](inputs).squeeze(1)
    log_probs = choice.log_prob(torch.tensor(rollout.actions.reshape(-1)))
    gain = targets - values.detach()
    loss = -(log_probs * gain).mean() + 0.5 * (values - targets).square().mean()
    loss = loss - 0.01 * choice.entropy().mean()
    names = [name for name, _ in network.named_parameters()]
    expected = torch.autograd.grad(loss, list(network.parameters()))
    for name, gradient in zip(names, expected, strict=True):
        np.testing.assert_allclose(found[name], gradient.numpy(), atol=1e-5)
