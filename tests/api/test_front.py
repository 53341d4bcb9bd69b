"""What `import wfbench` offers."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import wfbench
from wfbench.api import front
from wfbench.api.results import Result
from wfbench.api.searching import RunSettings
from wfbench.settings.config import RunConfig

FUNCTIONS = [name for name in wfbench.__all__ if name[0].islower()]


def test_the_names_are_those_of_the_api() -> None:
    names = [name for name, found in vars(front).items() if hasattr(found, "__module__")]
    assert wfbench.__all__ == sorted(
        name for name in names if name[0] != "_" and name != "annotations"
    )
    assert all(getattr(wfbench, name) is getattr(front, name) for name in wfbench.__all__)
    assert set(wfbench.__all__) <= set(dir(wfbench))


def test_importing_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, wfbench\n"
        "heavy = {'numpy', 'torch', 'numba', 'gymnasium', 'rich', 'typer'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_function_shares_its_name_with_a_package() -> None:
    packages = {path.name for path in Path(wfbench.__file__).parent.iterdir()}
    assert packages.isdisjoint(wfbench.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_typed_and_has_an_example(name: str) -> None:
    function = getattr(wfbench, name)
    assert "Example: " in (inspect.getdoc(function) or "")
    signature = inspect.signature(function)
    assert signature.return_annotation is not signature.empty
    assert all(one.annotation is not one.empty for one in signature.parameters.values())


def test_the_settings_of_a_run_are_those_of_the_configuration() -> None:
    fields = {field.name for field in dataclasses.fields(RunConfig)}
    assert set(RunSettings.__annotations__) == fields


def test_results_are_frozen() -> None:
    classes = [getattr(wfbench, name) for name in wfbench.__all__ if name[0].isupper()]
    results = [one for one in classes if issubclass(one, Result) and one is not Result]
    assert len(results) > 10
    for one in results:
        assert one.__dataclass_params__.frozen, one


def test_help_guides_a_newcomer() -> None:
    text = pydoc.plain(pydoc.render_doc(wfbench))
    for line in (
        "wfbench.run(",
        "run.save(",
        "wfbench.bench(collector=[MyCollector",
        " run(*, preset",
    ):
        assert line in text


def test_an_environment_is_known_to_gymnasium_in_either_sequence() -> None:
    make = "gymnasium.make('wfbench/Cage2-v0').close()"
    for first, second in (("wfbench", "gymnasium"), ("gymnasium", "wfbench")):
        code = f"import {first}\nimport {second}\n{make}\n"
        subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'seach'"):
        wfbench.seach  # noqa: B018
