"""Train orders several times, keep how it turned out as a landscape, and draw it."""

from __future__ import annotations

import os

import wfbench

SIZE = {"n_envs": 50, "workflows": 20, "seeds": 3}
if os.environ.get("WFBENCH_EXAMPLES_SMOKE") == "1":
    SIZE = {"n_envs": 4, "workflows": 2, "seeds": 2, "max_episodes": 2, "min_episodes": 1}

if __name__ == "__main__":
    trained = wfbench.run(**SIZE, training="per-order", inherit="none", stop="budget")
    landscape = wfbench.landscape([run.path for run in trained.runs], to="landscape.json")
    print("drawn in", landscape.save("landscape.html"))
    for row in sorted(landscape.rows(), key=lambda row: row["score"], reverse=True)[:5]:
        print(row["order"], row["score"])
    try:
        from matplotlib import pyplot
    except ImportError:
        print("with matplotlib installed, this would also draw landscape.png")
    else:
        rows = landscape.rows()
        pyplot.scatter([row["order"] for row in rows], [row["score"] for row in rows])
        pyplot.xticks(rotation=90)
        pyplot.savefig("landscape.png")
