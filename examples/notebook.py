# %% [markdown]
# # A first look
# Open this file as a notebook (VS Code, Jupytext) or run it as a script.

# %%
from __future__ import annotations

import os

import wfbench

SMOKE = os.environ.get("WFBENCH_EXAMPLES_SMOKE") == "1"
wfbench.plugins("collector").rows()

# %% [markdown]
# ## Search
# A notebook shows a result as a report with charts: just name it in the last line of a cell.

# %%
run = wfbench.run(smoke=True) if SMOKE else wfbench.run(n_envs=50, joint_episodes=50)
run

# %%
run.best

# %% [markdown]
# ## Learning curves
# `rows()` and `updates()` are lists of dicts: `pandas.DataFrame(run.updates())`.

# %%
[(row["workflow"], row["update"], row["return"]) for row in run.updates()][:5]

# %% [markdown]
# ## Evaluate the policy on fresh seeds

# %%
evaluation = wfbench.evaluate(run.path, horizon=30, episodes=20 if SMOKE else 1000)
evaluation.rows()

# %% [markdown]
# ## Which collector is fastest here?

# %%
bench = wfbench.bench(collector=["sequential", "vector"], n_envs=8, smoke=SMOKE)
bench.save("bench.html")
