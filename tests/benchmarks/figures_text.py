"""Write measured figures into documents: each between a pair of markers that names it.

`<!--figures:NAME-->` and `<!--end-->` enclose what `write` replaces. Everything else
of a document is written by hand and has no figure that a command measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DOCUMENTS = ("README.md", "docs/results.md", "docs/scaling.md")
_REGION = re.compile(r"(<!--figures:([\w-]+)-->\n).*?(<!--end-->)", re.DOTALL)

FRONT = {"speed": "throughput", "first": "joint"}
"""What the README shows of a part, with its commit only: it must be short."""
WINNER = {"bline": "-3.47 / -6.41 / -13.76", "meander": "-5.64 / -8.69 / -16.60"}
"""Published returns of the winner of the challenge."""

Parts = Mapping[str, Mapping[str, Any]]


def write(root: Path, parts: Parts) -> None:
    """Write the figures into every document; raises ValueError if they are of several commits."""
    check_one_commit(parts)
    for name in DOCUMENTS:
        path = root / name
        path.write_text(filled(path.read_text(encoding="utf-8"), parts), encoding="utf-8")


def check_one_commit(parts: Parts) -> None:
    """Raise ValueError unless all parts were measured at one commit."""
    commits = {part["commit"] for part in parts.values()}
    if len(commits) != 1:
        raise ValueError(f"figures are of {len(commits)} commits: {', '.join(sorted(commits))}")


def filled(text: str, parts: Parts) -> str:
    """Return a document with the figures between its markers; a part without figures stays."""

    def replaced(match: re.Match[str]) -> str:
        name = match[2]
        source = FRONT.get(name, name)
        if source not in parts:
            return match[0]
        part = parts[source]
        made = WRITERS[name](part["values"])
        origin = f"Commit {part['commit']}." if name in FRONT else _origin(part)
        return f"{match[1]}{made}\n\n{origin}\n{match[3]}"

    return _REGION.sub(replaced, text)


def _origin(part: Mapping[str, Any]) -> str:
    commands = "; ".join(f"`{command}`" for command in dict.fromkeys(part["commands"]))
    return f"Commit {part['commit']}, {part['machine']}: {commands}."


def _table(heads: str, rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {heads} |", "|" + "---|" * (heads.count("|") + 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _throughput(values: Any) -> str:
    rows = [
        (
            f"`{one['collector']}`",
            f"{one['rate']:,.0f}",
            f"{one['low']:,.0f} - {one['high']:,.0f}" if one.get("low") else "-",
            f"{one['cpu_us']:.3g}",
            f"{one['memory'] / 2**20:,.0f}",
            f"{one['start_up']:.2f}",
        )
        for one in sorted(values, key=lambda one: -one["rate"])
    ]
    heads = "collector | transitions/s | 95 % interval | CPU µs per transition | memory MB"
    return _table(f"{heads} | start-up s", rows)


def _speed(values: Any) -> str:
    """Return the first four columns."""
    return "\n".join(
        "|".join(line.split("|")[:5]) + "|" for line in _throughput(values).split("\n")
    )


def _environment(values: Any) -> str:
    rates = " / ".join(
        f"{values['steps_per_second'][red] / 1e6:.1f}" for red in ("bline", "meander")
    )
    return _table(
        "CAGE-2 | ",
        [
            (
                "batched kernel, one thread, 200 environments, B_line / Meander",
                f"{rates} million steps/s",
            ),
            ("time per step, 20,000 environments against 200", f"{values['growth']:.2f}x"),
            (
                "`Cage2Env.step` / `reset`",
                f"{values['step_us']:.1f} µs / {values['reset_us']:.1f} µs",
            ),
            ("first step of a fresh process, warm cache", f"{values['first_step']:.1f} s"),
        ],
    )


def _start(values: Any) -> str:
    first, again = values["first"], values["again"]
    row = (f"{first:.1f} s", f"{again:.1f} s", f"{first - again:.1f} s")
    return _table("first run on a machine | the same again | compiling", [row])


def _joint(values: Any) -> str:
    rows = [
        (
            one["red"],
            "-" if one["first"] is None else f"{one['first']:.0f} s",
            f"{one['seconds']:.0f} s",
            f"{one['return']:.1f}",
            f"{one['followed']} followed, {one['untested']} untested",
            f"{100 * one['opening']:.0f} %",
            one["says"],
        )
        for one in values
    ]
    heads = "red | first answer | all | all orders, return | orders | opening collectors"
    return _table(f"{heads} | what it says", rows)


def _first(values: Any) -> str:
    one = values[0]
    first = "" if one["first"] is None else f"The first answer comes after {one['first']:.0f} s, "
    whole = f"all of it after {one['seconds']:.0f} s (seed 0, compiled code cached)"
    return f"{first}{whole}: *{one['says']}*"


def _timed(values: Any) -> str:
    rows = [
        (one["red"], f"{one['seconds']:.0f} s", f"{one['memory_mb']:,.0f} MB") for one in values
    ]
    return _table("red | start to report | memory", rows)


def _per_order(values: Any) -> str:
    rows = [
        (
            one["red"],
            f"{one['compliant']} of {one['trainings']}",
            f"{one['best']:.1f}",
            f"{one['seconds']:.0f} s",
        )
        for one in values
    ]
    return _table("red | trainings that comply | best score | time", rows)


def _learning(values: Any) -> str:
    rows = [
        (red, f"{one['transitions/s']:,}", f"{one['times the CPU time']:g}x")
        for red, one in values.items()
    ]
    return _table("red | transitions/s | CPU time of networks on every row", rows)


def _update(values: Any) -> str:
    rows = [
        (
            name.removeprefix("test_").replace("_", " "),
            ", ".join(f"{key}: {figure}" for key, figure in one.items()),
        )
        for name, one in values.items()
    ]
    return _table("benchmark | figures", rows)


def _best(values: Any) -> str:
    rows = [
        (
            one["red"],
            " / ".join(f"{cell:.2f}" for cell in one["returns"]),
            WINNER[one["red"]],
            f"{one['seconds']:.0f} s",
        )
        for one in values
    ]
    return _table("30 / 50 / 100 steps | this policy | winner of CAGE-2 | time to train", rows)


def _against(values: Any) -> str:
    rows = [
        (
            one["what"],
            f"{one['theirs']:.1f} s",
            f"{one['ours']:.1f} s",
            f"{one['theirs'] / one['ours']:.2f}x",
        )
        for one in values
    ]
    return _table("command | the other release | this commit | times faster", rows)


def _scaling(values: Any) -> str:
    rows = [
        (
            f"{one['workers']}",
            f"{one['rate']:,.0f}",
            f"{one['measured']:,.0f}",
            f"{one['rate'] / one['measured'] - 1:+.0%}",
        )
        for one in values
    ]
    return _table("workers | predicted, transitions/s | measured | error", rows)


WRITERS = {
    "throughput": _throughput,
    "speed": _speed,
    "environment": _environment,
    "start": _start,
    "joint": _joint,
    "first": _first,
    "documented": _timed,
    "per-order": _per_order,
    "learning": _learning,
    "update": _update,
    "best": _best,
    "longer": _joint,
    "against": _against,
    "scaling": _scaling,
}
"""What writes the text of each pair of markers."""
