"""New plugin packages from templates: complete, tested and installable."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from wfbench import __version__
from wfbench.contract import UsageError
from wfbench.descriptors import valid_name
from wfbench.store.files import writing

KINDS = {
    "collector": "Environments of one process, the policy asked once for all",
    "trainer": "A linear actor and critic in numpy",
    "searcher": "Climbs from the best order by swapping two units",
    "env": "A small network with an intruder and a workflow model",
}
"""What can be created, with the summary of what the template is."""

_NEXT_STEPS = {
    "collector": "Measure it against the others: `wfbench bench --collector $name --env cage2`.",
    "trainer": "Train with it: `wfbench run --trainer $name`.",
    "searcher": "Search with it: `wfbench run --searcher $name`.",
    "env": "Measure collectors on it: `wfbench bench --collector sequential --env $name`.",
}


def create_plugin(kind: str, name: str, parent: Path) -> Path:
    """Write the package `wfbench-NAME` into `parent` and return its directory.

    All of it appears at once, or nothing does; nothing that exists is touched.
    """
    if kind not in KINDS:
        raise UsageError(f"there is no template for {kind!r}; choose from {', '.join(KINDS)}")
    if not valid_name(name):
        raise UsageError(f"{name!r} is no plugin name: use lower-case letters, digits and hyphens")
    package = f"wfbench_{name.replace('-', '_')}"
    if find_spec(package) is not None:
        raise UsageError(f"a package {package} is installed already; choose another name")
    target = parent / f"wfbench-{name}"
    if target.exists():
        raise UsageError(f"{target} exists already; choose another name or remove it")
    if not parent.is_dir():
        raise UsageError(f"{parent} is not a directory")
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
        draft.rename(target)
    return target


def _contents(kind: str, package: str) -> dict[str, str]:
    common, own = files(__package__) / "templates/common", files(__package__) / f"templates/{kind}"
    source = f"src/{package}"
    return {
        "pyproject.toml": (common / "pyproject.toml.tmpl").read_text(encoding="utf-8"),
        "README.md": (common / "README.md.tmpl").read_text(encoding="utf-8"),
        f"{source}/__init__.py": (common / "__init__.py.tmpl").read_text(encoding="utf-8"),
        f"{source}/py.typed": "",
        f"{source}/plugin.py": (own / "plugin.py.tmpl").read_text(encoding="utf-8"),
        f"{source}/{kind}.py": (own / f"{kind}.py.tmpl").read_text(encoding="utf-8"),
        "tests/test_promises.py": (own / "test_promises.py.tmpl").read_text(encoding="utf-8"),
    }


def _class_name(name: str, kind: str) -> str:
    """`fast-path` of kind collector becomes FastPathCollector; a digit cannot come first."""
    words = "".join(part.capitalize() for part in name.split("-"))
    prefix = "" if words[0].isalpha() else "The"
    return f"{prefix}{words.removesuffix(kind.capitalize())}{kind.capitalize()}"
