"""`wfbench --version`: the versions that can change a result."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import typer

from wfbench import __version__
from wfbench.cli.invocation import Invocation
from wfbench.contract import API_FLOOR, API_VERSION
from wfbench.report.console import print_json

_LIBRARIES = ("gymnasium", "numba", "numpy", "pluggy", "torch")


def show_versions(current: Invocation, *, json: bool) -> None:
    """Print wfbench's version, then those of Python, libraries and plugins."""
    libraries = {name: _installed(name) for name in _LIBRARIES}
    plugins = {
        source.distribution: source.version
        for source in current.host(quiet=True).loaded
        if source.distribution and not source.bundled
    }
    api = f"{API_FLOOR} to {API_VERSION}"
    if json:
        values = {"wfbench": __version__, "python": platform.python_version(), "plugin_api": api}
        print_json("version/1", {**values, "libraries": libraries, "plugins": plugins})
        return
    typer.echo(f"wfbench {__version__}")
    system = f"{platform.system()} {platform.machine()}"
    typer.echo(f"python {platform.python_version()} on {system}; plugin API {api}")
    for name, found in {**libraries, **plugins}.items():
        typer.echo(f"{name} {found or 'not installed'}")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
