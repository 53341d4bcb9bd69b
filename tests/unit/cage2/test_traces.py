"""The recorded episodes of the reference simulator, replayed field by field."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from wfbench_cage2.replay import RECORDED, TraceError, replay_file, trace_files


def load(path):
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def test_every_recorded_step_of_every_trace_is_reproduced(data):
    results = [replay_file(path) for path in trace_files(data / "traces")]
    assert sum(result.steps for result in results) == 68_000
    assert [str(result.first) for result in results if result.mismatches] == []


def test_traces_between_them_use_every_kind_of_outcome(data):
    seen = {"red_type": set(), "exploit": set(), "detect": set(), "esc_sus": set()}
    for path in trace_files(data / "traces"):
        trace = load(path)
        for name, values in seen.items():
            values.update(np.unique(trace[name]).tolist())
    assert seen["red_type"] == set(range(6))
    assert seen["exploit"] == set(range(-1, 8))
    assert seen["detect"] == seen["esc_sus"] == {-1, 0, 1}


@pytest.mark.parametrize("field", ["obs", "reward", "done", "obs_reset", "priv", *RECORDED])
def test_a_changed_field_is_found(data, tmp_path, field):
    trace = {
        name: array[:1].copy() for name, array in load(data / "traces/bline__decoy.npz").items()
    }
    place = (0, 7) if field == "obs_reset" else (0, 40, 2) if trace[field].ndim == 3 else (0, 40)
    trace[field][place] = trace[field][place] + 1 if trace[field][place] < 1 else 0
    np.savez(tmp_path / "bline__changed.npz", **trace)
    result = replay_file(tmp_path / "bline__changed.npz")
    assert result.mismatches > 0
    assert result.first is not None
    assert result.first.step in (-1, 39, 40)


def run_replay(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "wfbench_cage2", "replay", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )


def test_command_prints_files_and_totals_and_exits_0(data, tmp_path):
    for name in ("sleep__rrar.npz", "bline__sleep.npz"):
        (tmp_path / name).write_bytes((data / "traces" / name).read_bytes())
    done = run_replay(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "bline__sleep.npz" in done.stdout
    assert "sleep__rrar.npz" in done.stdout
    assert "0 mismatches in 5,800 steps of 58 episodes (2 files)" in done.stdout


def test_command_shows_the_first_mismatch_in_full_and_exits_1(data, tmp_path):
    trace = load(data / "traces/sleep__rrar.npz")
    trace["reward"][3, 17] -= 1
    np.savez(tmp_path / "sleep__wrong.npz", **trace)
    done = run_replay(tmp_path)
    assert done.returncode == 1
    assert "sleep__wrong.npz: episode 3, step 17, field reward: expected" in done.stdout
    assert "1 mismatches" in done.stdout


def broken_bytes(path, _trace):
    path.write_bytes(b"PK\x03\x04 this is not an archive")


def missing_array(path, trace):
    del trace["esc_sus"]
    np.savez(path, **trace)


def wrong_shape(path, trace):
    trace["obs"] = trace["obs"][:, :, :51]
    np.savez(path, **trace)


def illegal_action(path, trace):
    trace["blue_action"][0, 0] = 200
    np.savez(path, **trace)


def pickled_objects(path, trace):
    trace["reward"] = np.array([{}], dtype=object)
    np.savez(path, **trace)


@pytest.mark.parametrize(
    "spoil", [broken_bytes, missing_array, wrong_shape, illegal_action, pickled_objects]
)
def test_a_malformed_trace_is_a_clear_error(data, tmp_path, spoil):
    path = tmp_path / "sleep__spoiled.npz"
    spoil(path, load(data / "traces/sleep__rrar.npz"))
    with pytest.raises(TraceError, match=r"sleep__spoiled\.npz: "):
        replay_file(path)


@pytest.mark.parametrize("action", [-1, 145])
def test_an_action_that_does_not_exist_is_named_with_the_range(data, tmp_path, action):
    trace = load(data / "traces/sleep__rrar.npz")
    trace["blue_action"] = trace["blue_action"].astype(np.int64)
    trace["blue_action"][0, 0] = action
    np.savez(tmp_path / "sleep__spoiled.npz", **trace)
    with pytest.raises(TraceError, match=r"blue_action has values outside 0\.\.144$"):
        replay_file(tmp_path / "sleep__spoiled.npz")


def test_a_folder_without_traces_or_a_file_of_no_red_agent_is_a_clear_error(data, tmp_path):
    with pytest.raises(TraceError, match="no such folder"):
        trace_files(tmp_path / "nowhere")
    with pytest.raises(TraceError, match=r"no \*\.npz file"):
        trace_files(tmp_path)
    (tmp_path / "green__x.npz").write_bytes((data / "traces/sleep__rrar.npz").read_bytes())
    done = run_replay(tmp_path)
    assert done.returncode == 2
    assert "must start with a red agent" in done.stderr
    assert "Traceback" not in done.stderr
