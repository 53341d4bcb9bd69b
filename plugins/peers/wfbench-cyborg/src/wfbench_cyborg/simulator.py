"""Find and build the official simulator. Everything about its interface stands here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from wfbench.contract import PluginError

from .options import RED_AGENTS

SCENARIO = "Scenario2.yaml"
_WRAPPER_HOMES = ("CybORG.Agents.Wrappers", "CybORG.Agents", "CybORG")
"""Modules that may hold the wrapper, by release."""

_QUIET = ("Sleep", "DiscoverRemoteSystems", "DiscoverNetworkServices", "Impact")
"""Red actions that neither open nor change a session."""

Sessions = frozenset[tuple[Any, Any]]
"""Identifiers of the sessions on a host."""

HOW_TO_GET_IT = (
    "it is not on a package index: clone github.com/cage-challenge/cage-challenge-2 and "
    "`pip install -e cage-challenge-2/CybORG` in this environment (the -e is needed: without it "
    "files that it reads are not installed); --env cage2 needs no simulator"
)


class Simulator:
    """One game of the simulator with one red agent, from blue's seat."""

    def __init__(self, red: str) -> None:
        package = find_package()
        agents = _loaded("CybORG.Agents")
        red_agent = _member(agents, RED_AGENTS[red])
        self._game = _member(package, "CybORG")(
            _scenario(package), "sim", agents={"Red": red_agent}
        )
        self._blue = _wrapper()(env=self._game, agent_name="Blue")

    def reset(self) -> Any:
        """Start the next episode and return its first observation."""
        return self._blue.reset()

    def step(self, action: int) -> tuple[Any, float, bool]:
        """Return observation, reward, and whether the simulator ended the episode."""
        obs, reward, done, _ = self._blue.step(action)
        return obs, float(reward), bool(done)

    def true_state(self) -> dict[str, Any]:
        """Return the simulator's true state."""
        state: dict[str, Any] = self._game.get_agent_state("True")
        return state

    def red_was_quiet(self) -> bool:
        """Tell whether red's last action left its sessions as they were."""
        return type(self._game.get_last_action("Red")).__name__ in _QUIET

    def red_sessions(self, hosts: Sequence[str]) -> tuple[Sessions, ...]:
        """Return red's sessions on each of the hosts."""
        state = self.true_state()
        return tuple(_red_sessions(state.get(host, {}).get("Sessions", ())) for host in hosts)


def _red_sessions(sessions: Iterable[Mapping[str, Any]]) -> Sessions:
    return frozenset((s.get("ID"), s.get("PID")) for s in sessions if s.get("Agent") == "Red")


def version() -> str:
    """Return the version that the simulator says it has."""
    return str(_member(find_package(), "CYBORG_VERSION"))


def find_package() -> Any:
    """Return the simulator's package; raise PluginError with how to get it."""
    _silence_gym()
    try:
        return import_module("CybORG")
    except (ImportError, OSError) as error:
        raise PluginError(
            f"the CybORG simulator cannot be imported ({error}); {HOW_TO_GET_IT}"
        ) from error


def _silence_gym() -> None:
    """Withdraw the notice that gym is unmaintained, which every worker would print."""
    with suppress(ImportError):
        notices = import_module("gym_notices.notices").notices
        for version in [v for v, text in notices.items() if "unmaintained" in text]:
            del notices[version]


def _scenario(package: Any) -> str:
    folder = Path(str(package.__file__)).parent
    found = sorted(folder.rglob(SCENARIO), key=lambda path: len(path.parts))
    if not found:
        raise PluginError(f"there is no {SCENARIO} in {folder}: this CybORG is not that of CAGE-2")
    return str(found[0])


def _wrapper() -> Any:
    for home in _WRAPPER_HOMES:
        try:
            return import_module(home).ChallengeWrapper
        except (ImportError, AttributeError):
            continue
    raise PluginError("this CybORG has no ChallengeWrapper: it is not that of CAGE-2")


def _loaded(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise PluginError(f"this CybORG has no {name} ({error}): it is not CAGE-2's") from error


def _member(module: Any, name: str) -> Any:
    if not hasattr(module, name):
        raise PluginError(f"{module.__name__} has no {name}: this CybORG is not that of CAGE-2")
    return getattr(module, name)
