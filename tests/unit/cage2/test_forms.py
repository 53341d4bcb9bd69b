"""The public forms as gymnasium knows them."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics

from wfbench.contract import StepArrays
from wfbench_cage2 import ENV_ID, Cage2Batch, Cage2Env, Cage2VectorEnv
from wfbench_cage2.layout import AT
from wfbench_cage2.tables import HOSTS, NUM_ACTIONS, OBS_SIZE, action_name


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=110,
        env={**os.environ, **environment},
    ).stdout


@pytest.mark.parametrize("options", [{}, {"red": "meander"}, {"red": "mixed", "episode_steps": 3}])
def test_env_checker_has_nothing_to_say(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(ENV_ID, **options).unwrapped)


def test_made_by_name_in_both_forms():
    env = gymnasium.make(ENV_ID, red="meander", episode_steps=30)
    assert isinstance(env.unwrapped, Cage2Env)
    vector = gymnasium.make_vec(
        ENV_ID, num_envs=200, vectorization_mode="vector_entry_point", red="meander"
    )
    assert isinstance(vector, Cage2VectorEnv)
    assert vector.num_envs == 200
    assert vector.observation_space.shape == (200, OBS_SIZE)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert vector.metadata["render_fps"] == env.metadata["render_fps"] == 4


def test_all_forms_have_the_same_defaults_and_begin_alike():
    vector, env, batch = Cage2VectorEnv(1, seed=[3]), Cage2Env(seed=3), Cage2Batch(1)
    assert vector.episode_steps == env.episode_steps == batch.episode_steps == 100
    assert batch.info.obs_shape == (OBS_SIZE,)
    for space in (vector.single_observation_space, env.observation_space):
        assert (space.low.max(), space.high.min(), space.shape) == (0, 1, (OBS_SIZE,))
    (_, told), (_, one) = vector.reset(), env.reset()
    begun = {"compromised_units": 1 << 4, "compromised_hosts": 1 << 8, "ended_session": False}
    for key, value in begun.items():
        assert told[key].tolist() == [value]
        assert one[key] == value


def test_the_compiled_step_of_a_batch_is_its_step():
    one, other = (Cage2Batch(3, red="meander", episode_steps=4) for _ in range(2))
    wanted, found = (StepArrays.allocate(3, one.info) for _ in range(2))
    for batch, out in ((one, wanted), (other, found)):
        batch.reset(np.arange(3, dtype=np.uint64), out.obs)
        out.terminated[:] = True
    step = other.compiled_step
    names = ("rewards", "truncated", "final_obs", "compromised", "ended_session")
    for action in range(130, 140):
        actions = np.full(3, action)
        one.step(actions, wanted)
        arrays = (found.obs, *(getattr(found, name) for name in names))
        step.function(*step.context, actions, *arrays)
        for name in ("obs", *names):
            assert np.array_equal(getattr(wanted, name), getattr(found, name)), name
    assert not wanted.terminated.any()


def test_a_vector_is_open_until_it_is_closed():
    vector = Cage2VectorEnv(2)
    assert not vector.closed
    vector.close()
    assert vector.closed


@pytest.mark.parametrize(
    "imports",
    [
        "import wfbench, gymnasium",
        "import gymnasium, wfbench",
        "import wfbench_cage2, gymnasium",
        "import gymnasium, wfbench_cage2",
    ],
)
def test_registered_whatever_is_imported_first_and_numba_only_when_used(imports):
    out = run_python(
        f"{imports}, sys\n"
        "print('numba' in sys.modules)\n"
        "print(gymnasium.make_vec('wfbench/Cage2-v0', num_envs=3).num_envs)\n"
    )
    assert out.split() == ["False", "3"]


def test_truncated_after_episode_steps_with_return_and_length_in_info():
    env = Cage2Env(episode_steps=30, seed=0)
    for _ in range(2):
        env.reset()
        total = 0.0
        for t in range(30):
            obs, reward, terminated, truncated, info = env.step(133)
            total += reward
            assert not terminated
            assert truncated == (t == 29)
            assert ("episode_return" in info) == truncated
        assert info["episode_return"] == pytest.approx(total, abs=1e-4)
        assert info["episode_length"] == 30
        assert (info["final_obs"] == obs).all()


def test_vector_form_resets_in_the_same_step_and_keeps_the_final_observation():
    env = Cage2VectorEnv(5, red="meander", episode_steps=10, seed=1)
    env.reset()
    total = np.zeros(5)
    for t in range(20):
        obs, rewards, _, truncated, info = env.step(np.full(5, 2))
        total += rewards
        assert truncated.all() == ((t + 1) % 10 == 0)
        if truncated.any():
            assert not obs.any()
            assert info["_final_obs"].all()
            assert info["final_obs"].any()
            assert info["episode_return"] == pytest.approx(total, abs=1e-3)
            assert (info["episode_length"] == 10).all()
            total[:] = 0
        else:
            assert "final_obs" not in info


def test_gymnasiums_own_statistics_wrappers_agree():
    scalar = RecordEpisodeStatistics(Cage2Env(episode_steps=20, seed=3))
    scalar.reset()
    for _ in range(20):
        *_, info = scalar.step(5)
    assert info["episode"]["r"] == pytest.approx(info["episode_return"], abs=1e-3)
    vector = RecordVectorStatistics(Cage2VectorEnv(4, episode_steps=20, seed=3))
    vector.reset()
    for _ in range(20):
        *_, info = vector.step(np.full(4, 5))
    assert info["episode"]["r"] == pytest.approx(info["episode_return"], abs=1e-3)


def test_sync_vector_env_of_the_scalar_form_agrees_with_the_vector_form():
    sync = gymnasium.vector.SyncVectorEnv(
        [lambda: Cage2Env(red="meander", episode_steps=15)] * 3,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    ours = Cage2VectorEnv(3, red="meander", episode_steps=15)
    sync.reset(seed=[5, 6, 7])
    ours.reset(seed=[5, 6, 7])
    rng = np.random.default_rng(0)
    for _ in range(40):
        actions = rng.integers(0, 145, 3)
        theirs, mine = sync.step(actions), ours.step(actions)
        for a, b in zip(theirs[:4], mine[:4], strict=True):
            assert (a == b).all()
    sync.close()


def test_the_same_seed_gives_the_same_episode_in_another_process():
    code = (
        "import numpy as np, hashlib\n"
        "from wfbench_cage2 import Cage2Env\n"
        "env = Cage2Env(red='meander'); rng = np.random.default_rng(1)\n"
        "h = hashlib.sha256(); env.reset(seed=77)\n"
        "for t in range(250):\n"
        "    obs, r, _, done, info = env.step(int(rng.integers(145)))\n"
        "    h.update(obs.tobytes() + str(r).encode() + info['state'].tobytes())\n"
        "    if done: env.reset()\n"
        "print(h.hexdigest())\n"
    )
    first = run_python(code, PYTHONHASHSEED="1")
    assert first == run_python(code, PYTHONHASHSEED="2")


def test_no_global_random_state_is_read_or_written():
    def play():
        env = Cage2VectorEnv(3, red="mixed", seed=2)
        env.reset()
        return np.stack([env.step(np.full(3, 133))[0] for _ in range(120)])

    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    first = play()
    before = (random.getstate(), pickle.dumps(np.random.get_state()))  # noqa: NPY002
    assert (play() == first).all()
    Cage2Env().reset()
    assert (random.getstate(), pickle.dumps(np.random.get_state())) == before  # noqa: NPY002


def test_unseeded_envs_differ_and_reset_goes_on_with_the_next_episode():
    a, b = Cage2VectorEnv(50, red="meander"), Cage2VectorEnv(50, red="meander")
    a.reset()
    b.reset()
    assert not set(a.seeds.tolist()) & set(b.seeds.tolist())
    env = Cage2Env(red="meander", seed=0)
    played = []
    for seed in (None, None, 0):
        env.reset(seed=seed)
        played.append([env.step(0)[-1]["state"].tolist() for _ in range(30)])
    assert played[0] != played[1]
    assert played[0] == played[2]


def test_observations_and_infos_belong_to_the_caller():
    env = Cage2Env(red="meander", seed=0)
    env.reset()
    kept = [env.step(0) for _ in range(40)]
    copies = [(obs.copy(), info["state"].copy()) for obs, *_, info in kept]
    for _ in range(40):
        env.step(0)
    for (obs, *_, info), (obs_copy, state_copy) in zip(kept, copies, strict=True):
        assert (obs == obs_copy).all()
        assert (info["state"] == state_copy).all()


def test_a_vector_step_belongs_to_the_caller_except_for_read_only_views():
    env = Cage2VectorEnv(5, red="meander", seed=0, episode_steps=7)
    env.reset()
    actions = np.random.default_rng(0).integers(0, 145, (40, 5))
    kept, copies = [], []
    for t in range(40):
        *arrays, info = env.step(actions[t])
        kept.append([*arrays, *(info[key] for key in sorted(info) if key != "state")])
        copies.append([array.copy() for array in kept[-1]])
        assert np.shares_memory(info["state"], env._batch.state)
        for name in ("state", "_state"):
            with pytest.raises(ValueError, match="read-only"):
                info[name][0] = 0
        assert ("final_obs" in info) == (t % 7 == 6)
    for found, wanted in zip(kept, copies, strict=True):
        for array, copy in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(array, copy)


def test_actions_of_any_integer_type_and_layout_step_the_same():
    wanted = None
    spread = np.zeros(6, dtype=np.int64)
    spread[::2] = (141, 3, 140)
    for actions in ([141, 3, 140], np.array([141, 3, 140], dtype=np.int16), spread[::2]):
        env = Cage2VectorEnv(3, red="meander", seed=4, episode_steps=6)
        env.reset()
        found = [tuple(array.tobytes() for array in env.step(actions)[:4]) for _ in range(20)]
        wanted = wanted or found
        assert found == wanted


def test_unit_mask_follows_from_the_host_mask():
    seen = set()
    for seed in range(20):
        env = Cage2Env(red="meander", seed=seed)
        env.reset()
        for t in range(100):
            *_, info = env.step(141 if t % 7 else 139)
            units = {int(h.unit) for i, h in enumerate(HOSTS) if info["compromised_hosts"] >> i & 1}
            assert info["compromised_units"] == sum(1 << unit for unit in units)
            seen |= units
    assert seen == {1, 2, 3, 4}


def test_true_state_has_the_documented_keys_types_and_size():
    env = Cage2Env(red="meander", seed=8)
    env.reset()
    first = env.true_state()
    assert 10_000 < len(pickle.dumps(first)) < 13_000
    assert set(first) == {"success", *(host.name for host in HOSTS)}
    assert len(first["Defender"]["Processes"]) == 31
    assert len(first["Defender"]["Interface"]) == 4
    for host in HOSTS:
        entry = first[host.name]
        assert set(entry) == {"Processes", "Interface", "Sessions", "User Info", "System info"}
        if host.name != "Defender":
            assert 3 <= len(entry["Processes"]) <= 7
            assert len(entry["Interface"]) == 2
        assert 2 <= len(entry["User Info"]) <= 5
        red = [s for s in entry["Sessions"] if s["Agent"] == "Red"]
        assert len(red) == (host.name == "User0")
    sizes = []
    for _ in range(100):
        *_, info = env.step(0)
        truth = env.true_state()
        sizes.append(len(pickle.dumps(truth)))
        for h, host in enumerate(HOSTS):
            owned = any(s["Agent"] == "Red" for s in truth[host.name]["Sessions"])
            assert owned == bool(info["state"][AT.owned] >> h & 1)
    assert 11_000 < np.mean(sizes) < 16_000
    vector = Cage2VectorEnv(2, red="meander", seed=[1, 8])
    vector.reset()
    assert vector.true_state(1) == first


def test_ansi_rendering_is_a_table_of_the_hosts(capsys):
    env = Cage2Env(red="bline", render_mode="ansi", seed=1)
    env.reset()
    assert "no action yet" in env.render()
    for _ in range(20):
        env.step(133)
    text = env.render()
    for host in HOSTS:
        assert host.name in text
    assert "blue believes" in text
    assert "red: Impact Op_Server0 (True)" in text
    assert "blue: Restore Enterprise0 (True)" in text
    assert "OT service of Op_Server0 is DOWN" in text
    assert capsys.readouterr().out == ""


def test_human_rendering_prints_the_table_at_every_step(capsys):
    env = Cage2Env(render_mode="human", seed=1)
    env.reset()
    env.step(0)
    out = capsys.readouterr().out
    assert out.count("Op_Server0") >= 2
    assert "blue: Sleep (Unknown)" in out


def test_action_names_follow_the_action_table():
    assert [action_name(a) for a in (0, 1, 2, 22, 55, 133, 139, 144)] == [
        "Sleep",
        "Monitor",
        "Analyse Defender",
        "Remove Op_Server0",
        "DecoyHarakaSMPT Enterprise0",
        "Restore Enterprise0",
        "Restore Op_Server0",
        "Restore User4",
    ]
    assert len({action_name(a) for a in range(NUM_ACTIONS)}) == NUM_ACTIONS
