"""Play blue in the terminal."""

from __future__ import annotations

from rich.console import Console

from . import tables
from .advice import Advisor
from .env import Cage2Env
from .tables import ANALYSE, HOST_ID, NUM_ACTIONS, NUM_HOSTS, SLEEP, action_name

HELP = """\
Type an action's number (0..144), or its name and host:
  sleep | monitor | analyse HOST | remove HOST | restore HOST | DECOY HOST
DECOY is one of apache, femitter, harakasmpt, smss, sshd, svchost, tomcat, vsftpd.
HOST is a name or the start of one that fits a single host (ent0, ops, u3), or its number 0..12.
An empty line repeats the last action, ? shows this, q ends the game."""
ADVICE_HELP = "a does what the policy advises."

_BASES = {
    kind.lower().removeprefix("decoy"): ANALYSE + NUM_HOSTS * number
    for number, kind in enumerate(tables.ACTION_KINDS)
} | {"analyze": ANALYSE}
_WITHOUT_HOST = {"sleep": SLEEP, "monitor": tables.MONITOR}


def _squeeze(text: str) -> str:
    return text.lower().replace("_", "").replace("-", "")


def parse_host(text: str) -> int:
    """Return a host given by number, by name, or by a short form that fits only one."""
    if text.isdigit():
        if int(text) >= NUM_HOSTS:
            raise ValueError(f"host {text} is outside 0..{NUM_HOSTS - 1}")
        return int(text)
    letters = _squeeze(text).rstrip("0123456789")
    digits = _squeeze(text).removeprefix(letters)
    names = {_squeeze(name): name for name in HOST_ID}
    fits = [names[n] for n in names if n.startswith(letters) and n.endswith(digits)]
    if len(fits) != 1:
        choices = ", ".join(fits or HOST_ID)
        raise ValueError(f"host {text!r} fits {len(fits)} hosts; choose one of {choices}")
    return HOST_ID[fits[0]]


def parse_action(text: str) -> int:
    """Return an action given by number, or by name and host."""
    words = text.lower().split()
    if len(words) == 1 and words[0].isdigit():
        action = int(words[0])
        if action >= NUM_ACTIONS:
            raise ValueError(f"action {action} is outside 0..{NUM_ACTIONS - 1}")
        return action
    if len(words) == 1 and words[0] in _WITHOUT_HOST:
        return _WITHOUT_HOST[words[0]]
    if len(words) == 2 and (kind := words[0].removeprefix("decoy")) in _BASES:
        return _BASES[kind] + parse_host(words[1])
    raise ValueError(f"{text!r} is not an action; type ? for help")


def play_episode(red: str, steps: int, seed: int | None, advisor: Advisor | None = None) -> None:
    """Play one episode until its last step, q, or the end of the input."""
    console = Console()
    env = Cage2Env(
        red=red,
        episode_steps=steps,
        memory=advisor is not None and advisor.memory,
        history=advisor is not None and advisor.history,
        seed=seed,
        render_mode="human",
    )
    console.print(HELP, markup=False, highlight=False)
    if advisor is not None:
        console.print(f"{ADVICE_HELP} It follows {advisor.order}.", markup=False, highlight=False)
    obs, info = env.reset()
    total, last, ended = 0.0, SLEEP, False
    while not ended:
        advice = None if advisor is None else advisor.advise(obs, info["state"])
        if advice is not None:
            console.print(f"advice: {action_name(advice)}", markup=False, highlight=False)
        action = _ask(console, last, advice)
        if action is None:
            break
        obs, reward, _, ended, info = env.step(action)
        total, last = total + reward, action
        console.print(f"{action_name(action)}: reward {reward:+.1f}, return {total:+.1f}")
    console.print(f"return {total:+.1f}")


def _ask(console: Console, last: int, advice: int | None) -> int | None:
    while True:
        try:
            text = console.input(f"blue, [{action_name(last)}]> ", markup=False).strip()
        except (EOFError, KeyboardInterrupt):
            return None
        if text.lower() in ("q", "quit", "exit"):
            return None
        if text == "?":
            console.print(HELP, markup=False, highlight=False)
            continue
        if text.lower() == "a" and advice is not None:
            return advice
        try:
            return parse_action(text) if text else last
        except ValueError as error:
            console.print(str(error), markup=False)
