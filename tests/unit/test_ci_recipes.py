"""The recipes for CI: what they run exists, and what they read is written."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import parse_qs

import pytest
import yaml

from wfbench.benchmarks.gate.baseline_store import read_baseline
from wfbench.benchmarks.gate.check import cases_now
from wfbench.host.manager import PluginSettings, load_plugins

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github/workflows/performance.yml"
GITLAB = ROOT / "docs/ci/gitlab-ci.yml"
KEPT = sorted((ROOT / "results/baselines").glob("*.json"))


def scripts(file: Path) -> list[str]:
    """Every shell line of a recipe."""
    recipe = yaml.safe_load(file.read_text())
    if file == GITHUB:
        parts = [step["run"] for step in recipe["jobs"]["check"]["steps"] if "run" in step]
    else:
        job = recipe["performance"]
        parts = [*job["script"], *job["after_script"]]
    return [line for part in parts for line in part.splitlines()]


def commands(file: Path) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in scripts(file) if line.startswith("wfbench ")]


@pytest.mark.parametrize("file", [GITHUB, GITLAB], ids=["github", "gitlab"])
def test_every_command_exists_with_its_options(file: Path, wfbench: Any) -> None:
    found = commands(file)
    assert found
    for verb, *args in found:
        done = wfbench(verb, "--help")
        assert done.returncode == 0
        options = [arg for arg in args if arg.startswith("--")]
        assert options
        assert all(re.search(rf"^ +{option} ", done.stdout, re.MULTILINE) for option in options)


@pytest.mark.parametrize("file", [GITHUB, GITLAB], ids=["github", "gitlab"])
def test_what_is_posted_and_kept_is_what_check_writes(file: Path) -> None:
    [args] = commands(file)
    out, comment = (args[args.index(option) + 1] for option in ("--out", "--md"))
    text = file.read_text()
    if file == GITHUB:
        steps = yaml.safe_load(text)["jobs"]["check"]["steps"]
        uploads = [step for step in steps if "upload-artifact" in step.get("uses", "")]
        assert [step["with"]["path"] for step in uploads] == [out]
        assert f"cat {comment}; }} > body.md" in text
        later = steps[steps.index(next(s for s in steps if "check" in s.get("run", ""))) + 1 :]
        assert all(step["if"].startswith("always()") for step in later)
    else:
        job = yaml.safe_load(text)["performance"]
        assert job["artifacts"]["when"] == "always"
        assert job["artifacts"]["reports"]["junit"] == f"{out}/junit.xml"
        assert f"cat {comment}; }} > body.md" in text


@pytest.mark.parametrize("file", [GITHUB, GITLAB], ids=["github", "gitlab"])
def test_the_recipe_is_the_one_that_plugins_get(file: Path) -> None:
    templates = ROOT / "wfbench" / "host" / "scaffold" / "templates" / "ci"
    assert (templates / file.name).read_bytes() == file.read_bytes()


@pytest.fixture
def repository(tmp_path: Path, wfbench: Any) -> Path:
    """An empty project with a new collector in it, and its base branch on a remote."""
    made = wfbench("plugins", "new", "collector", "recipe-trial", "--ci", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "wfbench-recipe-trial"
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    for words in (
        ("init", "--quiet"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "Begin"),
        ("clone", "--quiet", "--bare", ".", str(tmp_path / "remote")),
        ("remote", "add", "origin", str(tmp_path / "remote")),
        ("fetch", "--quiet", "origin"),
    ):
        subprocess.run([*git, *words], cwd=folder, check=True, timeout=60)
    return folder


def test_the_check_of_both_recipes_runs_in_an_empty_plugin_repository(
    repository: Path, clean_environ: dict[str, str]
) -> None:
    recipes = [repository / ".github/workflows/performance.yml", repository / ".gitlab-ci.yml"]
    [line], [other] = (
        re.findall(r"(?:run:|-) (wfbench check .*)", recipe.read_text()) for recipe in recipes
    )
    assert line == other, "what runs for one of them runs for both"
    # As at the top of the recipe, but brief.
    settings = {"BASE": "main", "DETECT": "90%", "BUDGET": "4s"}
    path = f"{Path(sys.executable).parent}:{clean_environ['PATH']}"
    done = subprocess.run(
        ["/bin/bash", "-e", "-c", f"{line} --n-envs 2 --seconds 0.2"],
        cwd=repository,
        env=clean_environ
        | settings
        | {"PATH": path, "XDG_CACHE_HOME": str(repository.parent / "cache")},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    verdict = json.loads((repository / "check" / "verdict.json").read_text())
    assert verdict["exit_code"] == done.returncode
    assert "recipe-trial" in (repository / "comment.md").read_text()
    assert (repository / "check" / "junit.xml").exists()


def test_only_the_comment_of_the_recipe_is_edited(tmp_path: Path) -> None:
    """The GitHub step with a `gh` that keeps comments in a file, beside a comment of somebody."""
    steps = yaml.safe_load(GITHUB.read_text())["jobs"]["check"]["steps"]
    [step] = [one for one in steps if one.get("name") == "Comment on the pull request"]
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "gh").write_text(
        f"#!{sys.executable}\n"
        "import os, pathlib, sys\n"
        "kept = pathlib.Path('kept'); kept.mkdir(exist_ok=True)\n"
        "args, body = sys.argv[1:], pathlib.Path('body.md')\n"
        "if '--jq' in args:\n"
        "    assert 'startswith(env.MARKER)' in args[args.index('--jq') + 1]\n"
        "    for one in sorted(kept.iterdir()):\n"
        "        if one.read_text().startswith(os.environ['MARKER']): print(one.name)\n"
        "elif 'PATCH' in args:\n"
        "    [url] = [a for a in args if '/comments/' in a]\n"
        "    (kept / url.rpartition('/')[2]).write_text(body.read_text())\n"
        "else:\n"
        "    (kept / str(len(list(kept.iterdir())))).write_text(body.read_text())\n"
    )
    (tools / "gh").chmod(0o755)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "0").write_text("a bot's comment")
    environ = {"PATH": f"{tools}:/usr/bin:/bin", "GITHUB_REPOSITORY": "a/b", "NUMBER": "1"}
    for says in ("first", "second"):
        (tmp_path / "comment.md").write_text(says)
        subprocess.run(
            ["/bin/bash", "-e", "-c", step["run"]],
            cwd=tmp_path,
            env=environ | {"MARKER": step["env"]["MARKER"]},
            check=True,
            timeout=60,
        )
    kept = [one.read_text() for one in sorted((tmp_path / "kept").iterdir())]
    assert kept == ["a bot's comment", f"{step['env']['MARKER']}\nsecond"]


class Notes(BaseHTTPRequestHandler):
    """The comments of a merge request, as GitLab keeps them."""

    kept: ClassVar[dict[int, str]]

    def do_GET(self) -> None:
        self._answer([{"id": number, "body": body} for number, body in self.kept.items()])

    def do_POST(self) -> None:
        self._keep(len(self.kept) + 1)

    def do_PUT(self) -> None:
        self._keep(int(self.path.rpartition("/")[2]))

    def _keep(self, number: int) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.kept[number] = parse_qs(form)["body"][0]
        self._answer({"id": number})

    def _answer(self, found: object) -> None:
        allowed = self.headers["PRIVATE-TOKEN"] == "given" and "/4/merge_requests/7/" in self.path
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.mark.skipif(shutil.which("curl") is None, reason="the recipe posts with curl")
def test_only_the_note_of_the_gitlab_recipe_is_edited(tmp_path: Path) -> None:
    job = yaml.safe_load(GITLAB.read_text())["performance"]
    [script] = job["after_script"]
    marker = job["variables"]["MARKER"]
    Notes.kept = {1: "a bot's comment", 2: f"somebody quotes {marker}"}
    with HTTPServer(("127.0.0.1", 0), Notes) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        environ = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "MARKER": marker,
            "COMMENT_TOKEN": "given",
            "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}/api/v4",
            "CI_PROJECT_ID": "4",
            "CI_MERGE_REQUEST_IID": "7",
            "no_proxy": "127.0.0.1",
        }
        for says in ("first", "100 % & more"):
            (tmp_path / "comment.md").write_text(says)
            subprocess.run(
                ["/bin/bash", "-e", "-c", script],
                cwd=tmp_path,
                env=environ,
                check=True,
                timeout=60,
            )
        server.shutdown()
    assert list(Notes.kept.values())[:2] == ["a bot's comment", f"somebody quotes {marker}"]
    assert list(Notes.kept.values())[2:] == [f"{marker}\n100 % & more"]


def test_there_is_a_baseline_to_gate_with() -> None:
    assert KEPT


@pytest.mark.parametrize("file", KEPT, ids=lambda path: path.stem)
def test_a_kept_baseline_can_be_measured_by_this_code(file: Path) -> None:
    baseline = read_baseline(file)
    assert baseline.name == file.stem
    assert not baseline.settings.smoke
    assert baseline.command, "how it was made is part of it"
    host = load_plugins(PluginSettings(external=False))
    assert len(cases_now(host, baseline)) == len(baseline.cells)
