"""Search for the best order, follow it while it runs, and use the policy it found."""

from __future__ import annotations

import os

import gymnasium

import wfbench

SIZE = {"n_envs": 50, "joint_episodes": 50, "specialise": 1}
if os.environ.get("WFBENCH_EXAMPLES_SMOKE") == "1":
    SIZE = {"smoke": True}


def show(step: wfbench.Progress) -> None:
    """Print how far the search is."""
    if step.value["event"] == "workflow-finished":
        print(f"{step.done}/{step.total}: {step.text}")


if __name__ == "__main__":
    run = wfbench.run(**SIZE, seed=1, progress=show)
    for order in run.orders[:5]:
        print(f"{order.order}: {order.score:.1f} ({order.low:.1f} to {order.high:.1f})")
    print("report:", run.report_path)

    env = gymnasium.make("wfbench/Cage2-v0", memory=True, actions="reduced")
    obs, _ = env.reset(seed=0)
    policy = wfbench.load_policy(run.path, order="SEUHD", seed=0)
    total, done = 0.0, False
    while not done:
        obs, reward, terminated, truncated, _ = env.step(policy.act(obs))
        total, done = total + float(reward), terminated or truncated
    print(f"return of one episode: {total:.1f}")
