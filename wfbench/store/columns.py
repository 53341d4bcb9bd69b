"""The columns of the CSV files of a run."""

from __future__ import annotations

PHASES = (
    "open",
    "env",
    "transport",
    "inference",
    "idle",
    "shaping",
    "update",
    "search",
    "store",
    "observers",
    "loop",
)
"""Where the time of a run goes; together they are all of it."""

_EPISODES = ("compliance", "beside_compliance", "fixes", "counted", "wasted")
_TIME = ("at", *(f"{name}_seconds" for name in ("wall", *PHASES)))

WORKFLOW_COLUMNS = (
    "workflow",
    "order",
    "order_index",
    "definition",
    "beside",
    "seed",
    "inherited_from",
    "status",
    "reason",
    "score",
    "score_sd",
    "score_episodes",
    "score_source",
    *_EPISODES,
    "compliant",
    "steps_to_compliance",
    "updates",
    "env_steps",
    "evaluation_steps",
    "episodes",
    "ledger",
    *_TIME,
)

UPDATE_COLUMNS = (
    "workflow",
    "update",
    "order",
    "definition",
    "beside",
    "policy_version",
    "transitions",
    "env_steps",
    "ledger",
    "episodes",
    "return",
    "alignment",
    *_EPISODES,
    "marks",
    "stats",
    *_TIME,
)
