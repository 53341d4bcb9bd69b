"""Which runs did the same work: the one place that says what makes runs comparable.

Settings are sorted by what they change. What is to be learned is the task. How one order is trained
is the training. What is left decides how long a search goes on and where it runs.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from wfbench.settings.config import SETTINGS
from wfbench.store.config import StoredConfig

from .planning import KINDS, restored_settings

_TASK = ("red", "no_fix", "threshold", "score", "stop")
"""Settings that decide what is to be learned and what counts, not how."""
_LENGTH = ("seed", "seeds", "batch", "workflows")
"""Settings that change neither the task nor how one order is trained."""


def task_of(config: StoredConfig) -> dict[str, Any]:
    """Return what is to be learned; runs with equal tasks can be compared."""
    settings, env = _settings(config), config.plugins["env"]
    return {
        "env": env.name,
        **{f"env option {name}": value for name, value in env.options.items()},
        **{name: settings[name] for name in _TASK},
        "definition": config.definition,
        "units": ", ".join(config.units),
        "episode steps": config.episode_steps,
    }


def training_of(config: StoredConfig) -> dict[str, Any]:
    """Return how one order is trained; runs with equal trainings make one landscape."""
    settings = {k: v for k, v in _settings(config).items() if k not in _LENGTH}
    labels = {kind: config.label(kind) for kind in ("env", "trainer")}
    return {**labels, **settings, "definition": config.definition}


def search_of(config: StoredConfig) -> dict[str, Any]:
    """Return what a run set out to do; equal runs differ in their seed and where they ran only."""
    settings = {k: v for k, v in _settings(config).items() if k not in _LENGTH[:3]}
    labels = {kind: config.label(kind) for kind in KINDS}
    return {**labels, **settings, "definition": config.definition, "smoke": config.smoke}


def _settings(config: StoredConfig) -> dict[str, Any]:
    """Return the settings that choose no plugin; the definition is known more exactly."""
    found = asdict(restored_settings(config))
    return {k: v for k, v in found.items() if not SETTINGS[k].kind and k != "definition"}
