"""Opening and closing over and over leaves descriptors, memory and segments as they were."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CYCLES = """
import gc, json, os, sys
import fault_envs, psutil  # loaded here, so that forked workers need not
from wfbench.contract import EnvRef, Plan, load_object
from wfbench.policies import RandomPolicy
from wfbench.processes.segments import segment_dir

def state():
    gc.collect()
    me = psutil.Process()
    segments = len(list(segment_dir().glob(f"wfbench_{os.getpid()}_*")))
    return [me.num_fds(), me.memory_info().rss, segments, len(me.children(recursive=True))]

if __name__ == "__main__":
    build, cycles = load_object(sys.argv[1]), int(sys.argv[2])
    plan = Plan(EnvRef("Quiet", "fault_envs:Quiet"), 2, (1, 2))
    policy = RandomPolicy(4)
    states = []
    for cycle in range(cycles + 1):
        with build(start_method=sys.argv[3]) as collector:
            collector.open(plan)
            collector.collect(policy, 3)
        if cycle in (cycles // 10, cycles):
            states.append(state())
    print(json.dumps(states))
"""


@pytest.mark.parametrize(
    ("factory", "cycles", "method"),
    [
        ("wfbench_collectors.pipe:PipeCollector", 60, "fork"),
        ("wfbench_collectors.shm:ShmCollector", 300, "fork"),
        ("wfbench_collectors.free_running:AsyncCollector", 60, "fork"),
        ("wfbench_collectors.shm:ShmCollector", 20, "forkserver"),
    ],
)
@pytest.mark.timeout(300)
def test_open_and_close_over_and_over_leaves_no_trace(
    tmp_path: Path, factory: str, cycles: int, method: str
) -> None:
    script = tmp_path / "cycles.py"
    script.write_text(CYCLES)
    done = subprocess.run(
        [sys.executable, str(script), factory, str(cycles), method],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )
    early, late = json.loads(done.stdout)
    assert late[0] == early[0], "descriptors"
    assert late[1] - early[1] < 4 << 20, "memory"
    assert late[2] == 0, "segments"
    assert late[3] == 0, "processes"
