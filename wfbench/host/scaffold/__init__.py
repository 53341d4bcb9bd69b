"""New plugin packages from templates: complete, tested and installable."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from wfbench import __version__
from wfbench.contract import UsageError
from wfbench.host.descriptors import valid_name
from wfbench.store.files import writing

KINDS = {
    "collector": "Environments of one process, one call of the policy for all",
    "trainer": "A linear actor and critic in numpy",
    "searcher": "Climbs from the best order by swapping two units",
    "env": "A small network with an intruder and a workflow model",
}
"""The kinds that have a template, with a summary of each template."""

_NEXT_STEPS = {
    "collector": "Measure it against the others: `wfbench bench --collector $name --env cage2`.",
    "trainer": "Train with it: `wfbench run --trainer $name`.",
    "searcher": "Search with it: `wfbench run --searcher $name`.",
    "env": "Measure collectors on it: `wfbench bench --collector sequential --env $name`.",
}


_WORKFLOWS = {
    ".github/workflows/performance.yml": "performance.yml",
    ".gitlab-ci.yml": "gitlab-ci.yml",
}
"""Where each recipe goes; none of them assumes anything of the project but that it installs."""


def create_plugin(kind: str, name: str, parent: Path, *, ci: bool = False) -> Path:
    """Write the package `wfbench-NAME` into `parent` and return its directory.

    Write all of it or nothing, and never overwrite anything. `ci` adds workflows that fail a change
    which makes a collector slower.
    """
    if ci and kind != "collector":
        raise UsageError(f"--ci measures collectors, and this is a {kind}; leave it out")
    if kind not in KINDS:
        raise UsageError(f"there is no template for {kind!r}; choose from {', '.join(KINDS)}")
    if not valid_name(name):
        rule = "use lower-case letters, digits and hyphens"
        raise UsageError(f"{name!r} is not a valid name: {rule}")
    package = f"wfbench_{name.replace('-', '_')}"
    if find_spec(package) is not None:
        raise UsageError(f"a package {package} is already installed; choose another name")
    target = parent / f"wfbench-{name}"
    if target.exists():
        raise UsageError(f"{target} already exists; choose another name or remove it")
    if not parent.is_dir():
        raise UsageError(f"{parent} is not a directory; create it first")
    words = {
        "kind": kind,
        "name": name,
        "package": package,
        "distribution": f"wfbench-{name}",
        "class_name": _class_name(name, kind),
        "summary": KINDS[kind],
        "wfbench_version": __version__,
    }
    words["next_step"] = Template(_NEXT_STEPS[kind]).substitute(words)
    with (
        writing(target),
        tempfile.TemporaryDirectory(dir=parent, prefix=f".{target.name}-") as scratch,
    ):
        draft = Path(scratch) / target.name
        for path, text in _contents(kind, package).items():
            file = draft / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(Template(text).substitute(words), encoding="utf-8")
        for path, source in _WORKFLOWS.items() if ci else ():
            file = draft / path
            file.parent.mkdir(parents=True, exist_ok=True)
            text = (files(__package__) / "templates" / "ci" / source).read_text(encoding="utf-8")
            file.write_text(text, encoding="utf-8")
        draft.rename(target)
    return target


def _contents(kind: str, package: str) -> dict[str, str]:
    source, templates = f"src/{package}", files(__package__) / "templates"
    places = {
        "common": ("pyproject.toml", "README.md", f"{source}/__init__.py"),
        kind: (f"{source}/plugin.py", f"{source}/{kind}.py", "tests/test_promises.py"),
    }
    return {f"{source}/py.typed": ""} | {
        path: (templates / folder / f"{Path(path).name}.tmpl").read_text(encoding="utf-8")
        for folder, paths in places.items()
        for path in paths
    }


def _class_name(name: str, kind: str) -> str:
    """Return FastPathCollector for the collector `fast-path`; a digit cannot come first."""
    words = "".join(part.capitalize() for part in name.split("-"))
    prefix = "" if words[0].isalpha() else "The"
    return f"{prefix}{words.removesuffix(kind.capitalize())}{kind.capitalize()}"
