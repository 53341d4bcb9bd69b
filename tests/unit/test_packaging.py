"""What the metadata promises about other distributions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins(file: str) -> dict[str, Version]:
    lines = (ROOT / file).read_text().splitlines()
    found = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    return {re.sub(r"[-_.]+", "-", name).lower(): Version(pin) for name, pin in found.items()}


def bounds() -> dict[str, Version]:
    """Return the lower bound of everything that is needed to run wfbench and its tests."""
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    found = {}
    for requirement in map(Requirement, wanted):
        [one] = requirement.specifier
        assert one.operator == ">=", f"{requirement}: pins belong into constraints.txt"
        found[requirement.name] = Version(one.version)
    return found


def test_the_oldest_versions_that_are_tested_are_the_lower_bounds() -> None:
    oldest = pins("constraints-oldest.txt")
    torch = oldest.pop("torch")
    assert oldest == {name: bound for name, bound in bounds().items() if name != "torch"}
    assert torch == pins("constraints.txt")["torch"], "the only version that was tried"


def test_the_known_good_set_is_within_the_bounds() -> None:
    known = pins("constraints.txt")
    assert all(known[name] >= bound for name, bound in bounds().items())


@pytest.mark.parametrize(
    "file", sorted(ROOT.glob("plugins/peers/*/pyproject.toml")), ids=lambda file: file.parent.name
)
def test_no_peer_pins_what_others_may_need_in_another_version(file: Path) -> None:
    wanted = tomllib.loads(file.read_text())["project"]["dependencies"]
    operators = {one.operator for text in wanted for one in Requirement(text).specifier}
    assert operators <= {">=", "<"}
