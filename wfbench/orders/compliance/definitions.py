"""The definitions of compliance, by name and version.

Compliance is the share of graded fixes that follow the order: the mean over episodes, or, by a
pooled definition, the share of all fixes of all episodes. A definition says which fixes are graded
and which follow. Its id is part of every result. A changed rule gets a new version; old versions
stay, so that old results can be reproduced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

from wfbench.contract import UsageError


class Rule(IntEnum):
    """When a graded fix follows the order."""

    FIRST = 0
    """Its unit type is the most urgent one that is compromised."""
    NONE_BEFORE = 1
    """No more urgent type than its own is compromised."""
    TARGETED = 2
    """Every more urgent type than its own was the target of a fix earlier in the episode."""


class Idle(IntEnum):
    """How a fix is graded while nothing is compromised."""

    COMPLIANT = 0
    NEUTRAL = 1


@dataclass(frozen=True)
class Definition:
    """What counts as a fix and when it follows the order."""

    name: str
    version: int
    summary: str
    rule: Rule = Rule.FIRST
    idle: Idle = Idle.NEUTRAL
    ignore_footholds: bool = True
    """Ignore hosts on which the intruder has a session that nothing can end."""
    only_ending: bool = False
    """Grade only fixes that end at least one session of the intruder."""
    only_choices: bool = False
    """Grade only fixes made while at least two unit types were compromised. An episode without
    such a choice is compliant if it has other fixes that would count."""
    foothold_targets: bool = True
    """Whether fixes of a foothold count as fixes."""
    pooled: bool = False
    """Judge all episodes together: graded fixes that follow over graded fixes. Fewer than
    `MIN_CHOICES` of them are untested."""

    @property
    def id(self) -> str:
        """Return name and version, as written to files."""
        return f"{self.name}@{self.version}"


_ALL = (
    Definition(
        "strict",
        1,
        "the target type is the first compromised one, the foothold included; "
        "any fix is compliant while nothing is compromised",
        idle=Idle.COMPLIANT,
        ignore_footholds=False,
    ),
    Definition(
        "strict-nofoothold",
        1,
        "as strict, without the foothold; a fix while nothing is compromised is neutral",
    ),
    Definition(
        "effective",
        1,
        "as strict-nofoothold, counting only fixes that end a session of the intruder",
        only_ending=True,
    ),
    Definition(
        "effective",
        2,
        "as strict-nofoothold, counting only fixes that end a session of the intruder on a host "
        "other than the foothold, and grading only those made where there was a choice: while at "
        "least two types were compromised",
        only_ending=True,
        only_choices=True,
        foothold_targets=False,
    ),
    Definition(
        "choices",
        1,
        "right choices over choices, pooled over episodes; a choice is a fix, other than of the "
        "foothold, that ends a session of the intruder while at least two types are compromised, "
        "and it is right if its type is the first of them; few choices are untested",
        only_ending=True,
        only_choices=True,
        foothold_targets=False,
        pooled=True,
    ),
    Definition(
        "precedence",
        1,
        "no type before the target's is compromised, the foothold left out; "
        "any fix is compliant while nothing is compromised",
        rule=Rule.NONE_BEFORE,
        idle=Idle.COMPLIANT,
    ),
    Definition(
        "precedence-neutral",
        1,
        "as precedence; a fix while nothing is compromised is neutral",
        rule=Rule.NONE_BEFORE,
    ),
    Definition(
        "targeted",
        1,
        "every type before the target's was the target of a fix earlier in the episode; "
        "the state plays no part",
        rule=Rule.TARGETED,
        idle=Idle.COMPLIANT,
        ignore_footholds=False,
    ),
)

DEFINITIONS: Mapping[str, Definition] = MappingProxyType({one.id: one for one in _ALL})
"""Every definition ever used, by id."""

DEFAULT = "choices"
"""The definition by which a run is trained and judged."""

MIN_CHOICES = 50
"""With fewer graded fixes on record, a pooled compliance is untested."""

SECONDARY = "strict-nofoothold"
"""The definition that is always reported as secondary compliance."""


def find_definition(text: str) -> Definition:
    """Return the definition with this id, or the newest version of this name."""
    if text in DEFINITIONS:
        return DEFINITIONS[text]
    versions = [one for one in _ALL if one.name == text]
    if not versions:
        raise UsageError(
            f"there is no compliance definition {text!r}; choose one of {', '.join(DEFINITIONS)}"
        )
    return max(versions, key=lambda one: one.version)
