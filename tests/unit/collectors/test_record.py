"""The record of a step is declared once: with one more line, every collector delivers it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import wfbench
from wfbench.collecting.buffer import RolloutBuffer, buffer_shapes
from wfbench.contract import Acts, EnvInfo, Rollout, StepArrays
from wfbench.contract.record import STEP_FIELDS, StepRecord, array_shapes

INFO = EnvInfo(obs_shape=(3,), obs_dtype="<f4", num_actions=2)

NEW_FIELD = '    depth: NDArray[np.float64] = field(metadata={"info": "depth"})\n\n    @property\n'

ENVS = """
import gymnasium
import numpy as np
from wfbench.contract import EnvInfo


class Scalar(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9.0, 9.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.made = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.made += 1
        return np.zeros(1, np.float32), 0.0, False, self.made == 3, {"depth": self.made + 0.5}


class Batch:
    info = EnvInfo((1,), "<f4", 2)

    def __init__(self, num_envs):
        self.num_envs = num_envs

    def reset(self, seeds, obs):
        self.made = 0
        obs[:] = 0

    def step(self, actions, out):
        self.made += 1
        out.obs[:] = out.rewards[:] = out.terminated[:] = 0
        out.compromised[:] = out.ended_session[:] = out.final_obs[:] = 0
        out.truncated[:] = self.made == 3
        out.depth[:] = self.made + 0.5
        self.made %= 3

    def close(self):
        pass
"""

COLLECT = """
import json, sys
import numpy as np
import wfbench
from wfbench.contract import Acts, EnvRef, Plan, PolicySnapshot, load_object


class Still:
    version = 0

    def __init__(self, snapshot=None):
        pass

    def act(self, obs, draws):
        zeros = np.zeros(len(obs), np.float32)
        return Acts(np.zeros(len(obs), np.int64), zeros, zeros)

    def snapshot(self):
        return PolicySnapshot("collect:Still", 0)


if __name__ == "__main__":
    found = {"wfbench": wfbench.__file__}
    for factory in sys.argv[1:]:
        for batched in (None, "envs:Batch"):
            plan = Plan(EnvRef("new", "envs:Scalar", batched), 4, (1, 2, 3, 4))
            options = {} if "vector" in factory or "sequential" in factory else {"workers": 2}
            with load_object(factory)(**options) as collector:
                collector.open(plan)
                rollout = collector.collect(Still(), 4)
            found[f"{factory} {batched}"] = rollout.first_step.tolist(), rollout.depth.tolist()
    print(json.dumps(found))
"""

COLLECTORS = [
    "wfbench_collectors.sequential:SequentialCollector",
    "wfbench_collectors.pipe:PipeCollector",
    "wfbench_collectors.shm:ShmCollector",
    "wfbench_collectors.free_running:AsyncCollector",
    "wfbench_collectors.vector:VectorCollector",
]


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of wfbench with one more field in the record of a step."""
    source = Path(wfbench.__file__).parent
    shutil.copytree(source, tmp_path / "wfbench", ignore=shutil.ignore_patterns("__pycache__"))
    record = tmp_path / "wfbench" / "contract" / "record.py"
    text = record.read_text()
    assert text.count("\n    @property\n    def ended") == 1
    record.write_text(text.replace("\n    @property\n", NEW_FIELD, 1))
    (tmp_path / "envs.py").write_text(ENVS)
    (tmp_path / "collect.py").write_text(COLLECT)
    return tmp_path


def test_a_field_that_is_added_in_one_place_is_delivered_by_every_collector(changed: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(changed / "collect.py"), *COLLECTORS],
        env={**os.environ, "PYTHONPATH": str(changed)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found.pop("wfbench")).is_relative_to(changed)
    assert len(found) == 2 * len(COLLECTORS)
    for name, (first_step, depth) in found.items():
        steps = np.arange(4)[:, np.newaxis] + first_step
        assert depth == (steps % 3 + 1.5).tolist(), name


def test_everything_follows_from_the_declaration() -> None:
    shapes = array_shapes(StepRecord, (5,), INFO)
    assert shapes["obs"] == shapes["final_obs"] == ((5, 3), "<f4")
    assert shapes["rewards"] == ((5,), "<f4")
    assert shapes["compromised"] == ((5,), "<u4")
    assert tuple(shapes) == STEP_FIELDS == tuple(f.name for f in fields(StepArrays))
    delivered = {field.name for field in fields(Rollout)}
    assert set(STEP_FIELDS) | set(Acts._fields) <= delivered
    assert set(buffer_shapes(2, 5, INFO)) == set(STEP_FIELDS) | set(Acts._fields)


def test_columns_are_copied_with_all_or_only_the_ended_final_observations() -> None:
    source = RolloutBuffer(2, 3, INFO)
    for name, array in source.arrays.items():
        array[...] = 1 if name != "terminated" else np.eye(3, dtype=bool)[:2]
    ended = source.terminated | source.truncated
    packed = {**source.arrays, "final_obs": source.final_obs[ended]}
    for arrays in (source.arrays, packed):
        target = RolloutBuffer(2, 6, INFO)
        target.put_columns(slice(1, 4), arrays)
        for name, array in source.arrays.items():
            assert np.array_equal(target.arrays[name][:, 1:4], array), name
