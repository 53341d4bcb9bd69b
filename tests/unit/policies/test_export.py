"""Policies outside wfbench: the same logits, and an agent that needs numpy alone."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import wfbench
from wfbench.contract import UsageError
from wfbench.policies import NetworkPolicy, Notes
from wfbench.policies.export import Exported
from wfbench.policies.export.agent import write_agent
from wfbench.policies.export.blue_agent import BlueAgent
from wfbench.store.policy_file import PolicyLabel, StoredPolicy, write_policy
from wfbench_cage2 import Cage2Env
from wfbench_cage2.workflow import form

UNITS = ("defender", "enterprise", "op_server", "op_host", "user")
RICH = {"red": "bline", "episode_steps": 100, "memory": True, "actions": "reduced"}
PAST = {**RICH, "history": True}
JOINT = {**RICH, "orders": "all", "order_code": "pairs"}

PLAY = """
import json, sys
sys.modules["wfbench"] = None  # not importable
sys.path.insert(0, sys.argv[1])
from agent import BlueAgent
agent = BlueAgent(seed=1)
for line in sys.stdin:
    heard = json.loads(line)
    answer = agent.end_episode() if heard is None else agent.get_action(heard, list(range(145)))
    print(json.dumps(answer), flush=True)
"""

ONNX = """
import sys
import numpy as np
import onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1] + "/onnx/policy.onnx")
[logits] = session.run(["logits"], {"obs": np.load(sys.argv[1] + "/obs.npy")})
np.save(sys.argv[1] + "/logits.npy", logits)
print(session.get_modelmeta().custom_metadata_map["wfbench"])
import onnx
model = onnx.load(sys.argv[1] + "/onnx/policy.onnx")
print(model.ir_version, [one.version for one in model.opset_import])
"""


def stored(
    folder: Path, options: dict[str, object], order: tuple[int, ...]
) -> tuple[Path, NetworkPolicy]:
    env = Cage2Env(**{k: v for k, v in options.items() if not k.startswith("order")})
    size = env.observation_space.shape[0] + (10 if "orders" in options else 0)
    count = int(env.action_space.n)
    policy = NetworkPolicy.initial(size, count, seed=4, hidden=(16, 8))
    label = PolicyLabel(
        order=order,
        units=UNITS,
        env="cage2",
        env_options=options,
        obs_shape=(size,),
        num_actions=count,
        definition="choices@1",
        trainer="ppo",
        run="r",
        workflow=0,
        score=None,
        compliance=None,
    )
    write_policy(folder / "mine.npz", StoredPolicy(policy.snapshot(), label))
    return folder / "mine.npz", policy


def numpy_logits(policy: NetworkPolicy, obs: np.ndarray) -> np.ndarray:
    values = obs.astype(np.float64)
    for weights, biases in policy.actor[:-1]:
        values = np.tanh(values @ weights + biases)
    weights, biases = policy.actor[-1]
    return values @ weights + biases


@pytest.mark.parametrize("options", [{"red": "bline", "episode_steps": 100}, RICH, PAST])
def test_the_agent_plays_as_the_policy_does_without_wfbench(tmp_path, options):
    file, policy = stored(tmp_path, options, (4, 0, 1, 2, 3))
    found = wfbench.export(file, folder=tmp_path / "agent", greedy=True, episodes=2)
    assert found.files == ("README.md", "agent.py", "policy.npz", "policy.json")
    rich = Cage2Env(**options)
    plain = Cage2Env(red="bline")
    greedy = policy.greedy()
    with subprocess.Popen(
        [sys.executable, "-c", PLAY, str(tmp_path / "agent")],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as player:

        def ask(heard: object) -> object:
            player.stdin.write(json.dumps(heard) + "\n")
            player.stdin.flush()
            return json.loads(player.stdout.readline())

        for episode in range(2):
            seed = 3 if episode == 0 else None
            wanted, shown = rich.reset(seed=seed)[0], plain.reset(seed=seed)[0]
            for _ in range(100):
                chosen = int(greedy.act(wanted[None], np.array([0.5])).actions[0])
                wanted, reward, *_ = rich.step(chosen)
                shown, same, *_ = plain.step(ask(shown.tolist()))
                assert same == reward
            assert ask(None) is None


def test_an_agent_keeps_notes_from_one_observation_to_the_next(tmp_path):
    info, _ = form(memory=True, actions="reduced")
    rng = np.random.default_rng(5)
    layers = []
    for inputs, outputs in ((info.obs_shape[0], 6), (6, info.num_actions)):
        weights = rng.normal(size=(inputs, outputs)).astype(np.float32)
        layers.append((weights, rng.normal(size=outputs).astype(np.float32)))
    write_agent(tmp_path, Exported(tuple(layers), info.workflow.notes, greedy=True), {})
    agent, notes = BlueAgent(tmp_path), Notes(info.workflow.notes)
    shown = (rng.random((2, 30, 52)) < 0.1).astype(np.uint8)
    answers = set()
    for episode in shown:
        for step, obs in enumerate(episode):
            seen = notes.observe(obs) if step else notes.begin(obs)
            hidden = np.tanh(seen @ layers[0][0] + layers[0][1])
            logits = hidden @ layers[1][0] + layers[1][1]
            np.testing.assert_allclose(agent.logits(seen), logits, atol=1e-5)
            answer = agent.get_action(obs)
            assert answer == notes.act(int(logits.argmax()))
            answers.add(answer)
        agent.end_episode()
    assert len(answers) > 5


def test_an_agent_draws_by_its_logits_and_unpickles_nothing(tmp_path):
    layer = np.zeros((2, 3), np.float32), np.array([800, 800, 0], np.float32)
    write_agent(tmp_path, Exported((layer,), None, greedy=False), {"order": "D"})
    said = {"order": "D", "greedy": False, "notes": None}
    assert (tmp_path / "policy.json").read_text() == json.dumps(said, indent=1) + "\n"
    agent = BlueAgent(tmp_path, seed=3)
    counts = np.bincount([agent.get_action([0, 1]) for _ in range(200)], minlength=3)
    assert counts[2] == 0
    assert counts[:2].min() > 60
    np.savez(tmp_path / "policy.npz", **{"weights.0": np.array([{}]), "biases.0": layer[1]})
    with pytest.raises(ValueError, match="allow_pickle"):
        BlueAgent(tmp_path)


def test_a_joint_policy_is_exported_with_its_order(tmp_path):
    file, policy = stored(tmp_path, JOINT, ())
    with pytest.raises(UsageError, match="any order"):
        wfbench.export(file, folder=tmp_path / "no", episodes=2)
    found = wfbench.export(file, folder=tmp_path / "agent", order="USEHD", episodes=2)
    said = json.loads((tmp_path / "agent/policy.json").read_text())
    assert said["order"] == found.said["order"] == "U>S>E>H>D"
    assert (said["definition"], said["features"], said["actions"]) == ("choices@1", 136, 39)
    assert said["versions"]["wfbench"] == wfbench.__version__
    assert {one["red"] for one in said["scores"]} == {"bline", "meander", "sleep"}
    readme = (tmp_path / "agent/README.md").read_text()
    for text in ("U>S>E>H>D", "choices@1", "±", f"wfbench {wfbench.__version__}"):
        assert text in readme
    from wfbench.orders import parse_order
    from wfbench.orders.codes import OrderCode

    code = OrderCode("pairs", 5).encode(parse_order("USEHD", UNITS))
    exported = Exported.of(policy, code, None, greedy=False)
    obs = np.random.default_rng(1).integers(0, 2, (20, 136))
    values = obs.astype(np.float32)
    for weights, biases in exported.layers[:-1]:
        values = np.tanh(values @ weights + biases)
    logits = values @ exported.layers[-1][0] + exported.layers[-1][1]
    whole = np.concatenate([obs, np.broadcast_to(code, (20, 10))], axis=1)
    np.testing.assert_allclose(logits, numpy_logits(policy, whole), atol=1e-5)


def test_torch_loads_the_state_dict_by_the_code_of_its_readme(tmp_path):
    torch = pytest.importorskip("torch")
    file, policy = stored(tmp_path, RICH, (0, 1, 2, 3, 4))
    wfbench.export(file, to="torch", folder=tmp_path / "torch", episodes=2)
    readme = (tmp_path / "torch/README.md").read_text()
    code = readme.split("```python\n")[1].split("```")[0]
    obs = np.random.default_rng(2).integers(0, 2, (30, 136)).astype(np.float32)
    names = {"observations": torch.from_numpy(obs)}
    exec(code.replace("policy.pt", str(tmp_path / "torch/policy.pt")), names)  # noqa: S102
    np.testing.assert_allclose(
        names["logits"].detach().numpy(), numpy_logits(policy, obs), atol=1e-5
    )


def test_onnxruntime_gives_the_same_logits(tmp_path):
    for package in ("onnx", "onnxruntime"):
        if find_spec(package) is None:
            pytest.skip(f"the extra onnx is not installed: there is no {package}")
    file, policy = stored(tmp_path, RICH, (0, 1, 2, 3, 4))
    wfbench.export(file, to="onnx", folder=tmp_path / "onnx", episodes=2)
    obs = np.random.default_rng(2).integers(0, 2, (30, 136)).astype(np.float32)
    np.save(tmp_path / "obs.npy", obs)
    # In a process of its own: the runtime keeps files open.
    command = [sys.executable, "-c", ONNX, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    logits = np.load(tmp_path / "logits.npy")
    np.testing.assert_allclose(logits, numpy_logits(policy, obs), atol=1e-5)
    said, versions = done.stdout.splitlines()
    assert json.loads(said)["order"] == "D>E>S>H>U"
    assert versions == "8 [17]", "old enough for every runtime"


def test_what_cannot_be_exported_is_refused_and_nothing_is_overwritten(tmp_path):
    file, _ = stored(tmp_path, RICH, (0, 1, 2, 3, 4))
    (tmp_path / "full").mkdir()
    (tmp_path / "full/kept").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        wfbench.export(file, folder=tmp_path / "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["kept"]
    with pytest.raises(UsageError, match="no format 'pickle'"):
        wfbench.export(file, to="pickle")
    with pytest.raises(UsageError, match="follows D>E>S>H>U only"):
        wfbench.export(file, order="USEHD", folder=tmp_path / "x")
    with pytest.raises(UsageError, match="RandomPolicy cannot be exported"):
        wfbench.export("random", folder=tmp_path / "x")


def test_a_file_with_pickled_objects_is_refused(tmp_path):
    np.savez(tmp_path / "evil.npz", meta=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UsageError):
        wfbench.export(tmp_path / "evil.npz", folder=tmp_path / "x")
