"""What the search is told an order is worth: environment reward only, from named episodes."""

from __future__ import annotations

from dataclasses import dataclass

from wfbench.contract import UsageError

_SOURCES = ("last-episodes", "evaluate")


@dataclass(frozen=True)
class ScoreSource:
    """`last-episodes:K`, the last K training episodes of every env, or `evaluate:K` fresh ones."""

    kind: str
    count: int

    @property
    def evaluates(self) -> bool:
        """Whether scoring plays episodes of its own."""
        return self.kind == "evaluate"

    def __str__(self) -> str:
        return f"{self.kind}:{self.count}"


def parse_score(text: str) -> ScoreSource:
    """The score source that `text` names."""
    kind, _, count = text.partition(":")
    if kind not in _SOURCES or not (count.isascii() and count.isdigit() and int(count) >= 1):
        raise UsageError(f"score is {text!r}; it must be last-episodes:K or evaluate:K, K from 1")
    return ScoreSource(kind, int(count))
