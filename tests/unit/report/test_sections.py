"""What a report says of a run is what the run's files say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import geometric_mean

import pytest

from wfbench.contract import UsageError
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.report.document import Exhibit, Section
from wfbench.report.sections.result_files import file_section
from wfbench.report.sections.search import search_section
from wfbench.report.sections.sources import Sources
from wfbench.search.history import read_search

DATA = Path(__file__).parents[2] / "formats" / "data"


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return load_plugins(PluginSettings(external=False))


@pytest.fixture
def search(host: PluginHost) -> Section:
    [first, *_] = Sources(DATA, host).report(["search"]).sections
    return first


def _exhibit(section: Section, start: str) -> Exhibit:
    [found] = [exhibit for exhibit in section.exhibits if exhibit.title.startswith(start)]
    return found


def _finished(run: str = "search") -> list[dict[str, object]]:
    lines = (DATA / run / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return [event for event in events if event["event"] == "workflow-finished"]


def test_orders_and_their_returns_are_those_of_the_events(search: Section) -> None:
    table = _exhibit(search, "Which orders").table
    shown = dict(zip(table.values("order"), table.numbers("score"), strict=True))
    assert shown == {event["order"]: event["score"] for event in _finished()}
    assert search.headline.outcome == "open"
    assert len(search.checks) == 1 + len(_finished())


def test_every_order_has_a_belief_and_trained_ones_their_score(search: Section) -> None:
    table = _exhibit(search, "What does the searcher believe").table
    assert len(table.rows) == 120
    means = table.numbers("believed score")
    assert means == sorted(means, reverse=True)  # type: ignore[type-var]
    measured = {row[0]: row[4] for row in table.rows if row[4] is not None}
    assert measured == {event["order"]: event["score"] for event in _finished()}
    for row in table.rows:
        assert row[2] < row[1] < row[3]  # type: ignore[operator]


def test_a_searcher_that_is_not_installed_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    run = Path(shutil.copytree(DATA / "search", tmp_path / "search"))
    text = (run / "config.json").read_text().replace('"gp-ucb"', '"gone"')
    (run / "config.json").write_text(text)
    host = load_plugins(PluginSettings(external=False))
    section = Sources(tmp_path, host).report(["search"]).sections[0]
    assert any("there is no searcher 'gone'" in note for note in section.notes)
    assert len(section.exhibits) == 4


def test_the_heat_map_counts_every_training_once_per_unit(search: Section) -> None:
    table = _exhibit(search, "Which unit").table
    trainings = table.numbers("trainings")
    assert sum(count or 0 for count in trainings) == 5 * len(_finished())
    weighted = [
        mean * count
        for mean, count in zip(table.numbers("mean score"), trainings, strict=True)
        if mean is not None and count is not None
    ]
    scores = [float(event["score"]) for event in _finished()]  # type: ignore[arg-type]
    assert sum(weighted) == pytest.approx(5 * sum(scores))


def test_phases_are_all_of_the_time(search: Section) -> None:
    table = _exhibit(search, "Where did the time go").table
    shares = [value for value in table.rows[0][1:-1] if isinstance(value, float)]
    assert sum(shares) == pytest.approx(100, abs=0.01)


def test_best_so_far_never_falls_while_no_order_is_compliant(search: Section) -> None:
    best = _exhibit(search, "How did each workflow").table.numbers("best score")
    known = [value for value in best if value is not None]
    assert known == sorted(known)


def test_the_command_that_made_a_run_is_told(search: Section) -> None:
    commands = {exhibit.command for exhibit in search.exhibits}
    [command] = commands
    assert command.startswith("wfbench run --env synthetic:")
    assert "--workflows 3" in command
    assert "executor" not in command


def test_evaluations_that_were_kept_come_with_their_run(host: PluginHost) -> None:
    _, cross, cells = Sources(DATA, host).report(["search"]).sections
    matrix, given, by_distance = cross.exhibits
    assert len(given.table.rows) == len(_finished())
    orders = {event["order"] for event in _finished()}
    assert set(matrix.table.values("order given")) == orders
    assert len(matrix.table.rows) == len(orders) ** 2
    assert sum(by_distance.table.numbers("pairs of orders")) == 120 * len(orders)  # type: ignore[arg-type]
    assert cells.exhibits[0].command.startswith("wfbench evaluate search")
    assert any("units (U user, E enterprise," in note for note in cells.notes)
    assert any(note.startswith("Return on fresh seeds:") for note in cells.notes)


def test_a_run_says_what_its_score_is_and_what_letters_mean(search: Section) -> None:
    assert any("mean return of the last 3 training episodes" in note for note in search.notes)
    assert any("units (U user, E enterprise," in note for note in search.notes)
    assert ("score", "last-episodes:3") in [(fact.name, fact.value) for fact in search.facts]


def _without_inheritance(folder: Path) -> Path:
    """A copy of the recorded search in which every order was trained from scratch."""
    run = Path(shutil.copytree(DATA / "search", folder / "search"))
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    for event in events:
        if "inherited_from" in event:
            event["inherited_from"] = None
    (run / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return run


_MIXED = "mixes orders with how long the chain of inherited policies had been trained"
_NOT_COMPARABLE = "Scores of different orders are not comparable"


def test_scores_of_inherited_trainings_are_said_not_to_be_comparable(search: Section) -> None:
    assert any(event["inherited_from"] is not None for event in _finished())
    assert sum(_NOT_COMPARABLE in note for note in search.notes) == 1
    rests_on_scores = ("Which orders", "What does the searcher believe", "Which unit")
    for exhibit in search.exhibits:
        assert (_MIXED in exhibit.reading) is exhibit.title.startswith(rests_on_scores)


def test_scores_of_trainings_from_scratch_need_no_such_note(
    host: PluginHost, tmp_path: Path
) -> None:
    run = _without_inheritance(tmp_path)
    section = search_section(read_search(run), host)
    assert not any(_NOT_COMPARABLE in note for note in section.notes)
    assert not any(_MIXED in exhibit.reading for exhibit in section.exhibits)


def test_a_summary_shows_a_belief_only_where_it_is_one_about_orders(
    host: PluginHost, tmp_path: Path
) -> None:
    titles = [
        [exhibit.title for exhibit in search_section(read_search(run), host, brief=True).exhibits]
        for run in (DATA / "search", _without_inheritance(tmp_path))
    ]
    believed = [any("believe" in title for title in shown) for shown in titles]
    assert believed == [False, True]


def test_a_matrix_of_inherited_trainings_says_so_too(host: PluginHost) -> None:
    first, *_ = Sources(DATA, host).report(["matrix"]).sections
    assert any(_NOT_COMPARABLE in note for note in first.notes)


def test_a_compliance_that_nothing_tested_is_called_so(host: PluginHost, tmp_path: Path) -> None:
    run = Path(shutil.copytree(DATA / "search", tmp_path / "search"))
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    untested = [
        {**event, **({"compliance": None} if "compliance" in event else {})} for event in lines
    ]
    (run / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in untested))
    section = search_section(read_search(run), host)
    assert ("its compliance", "untested") in [(fact.name, fact.value) for fact in section.figures]
    assert not any("nan" in check.says for check in section.checks)


def test_throughput_is_that_of_the_samples(host: PluginHost) -> None:
    [section] = Sources(DATA, host).report(["bench"]).sections
    table = section.exhibits[0].table
    samples = [json.loads(x) for x in (DATA / "bench/samples.jsonl").read_text().splitlines()]
    for case, rate in enumerate(table.numbers("rate")):
        own = [s["measurement"] for s in samples if s["case"] == case]
        assert rate == pytest.approx(geometric_mean(m["transitions"] / m["wall"] for m in own))
    titles = [exhibit.title for exhibit in section.exhibits]
    assert "How does it scale with environments?" in titles
    assert {check.outcome for check in section.checks} == {"good"}


def test_a_matrix_compares_its_searches_and_shows_each(host: PluginHost) -> None:
    first, *cells = Sources(DATA, host).report(["matrix"]).sections
    assert [cell.kind for cell in cells] == ["search", "search"]
    rates = first.exhibits[1].table
    assert rates.values("search") == ["sequential, tiny:lr=0.002", "pipe:workers=1, tiny:lr=0.002"]


def test_searches_of_other_tasks_are_not_ranked(host: PluginHost, tmp_path: Path) -> None:
    for name, red in (("one", "bline"), ("two", "meander")):
        copied = Path(shutil.copytree(DATA / "search", tmp_path / name))
        config = json.loads((copied / "config.json").read_text())
        config["settings"]["red"], config["run"] = red, name
        (copied / "config.json").write_text(json.dumps(config))
    first, *others = Sources(tmp_path, host).report(["one", "two"]).sections
    assert first.title == "Not comparable"
    assert first.headline.says == "one and two are not ranked together: red bline / meander"
    assert {section.kind for section in others} == {"search", "evaluation"}


def test_runs_of_one_combination_are_named_by_what_differs(
    host: PluginHost, tmp_path: Path
) -> None:
    for name, seed in (("one", 3), ("two", 4)):
        copied = Path(shutil.copytree(DATA / "search", tmp_path / name))
        config = json.loads((copied / "config.json").read_text())
        config["settings"]["seed"], config["run"] = seed, name
        (copied / "config.json").write_text(json.dumps(config))
    both = Sources(tmp_path, host).report(["one", "two"])
    compared = both.sections[0]
    assert both.title == "one · two"
    assert compared.title == "Searches compared"
    assert compared.exhibits[1].table.values("search") == ["seed 3", "seed 4"]


def test_regret_is_judged_by_a_landscape_that_fits(host: PluginHost) -> None:
    judged = Sources(DATA, host, DATA / "landscape.json").report(["search"]).sections[0]
    table = _exhibit(judged, "How far from the best").table
    regrets = [value for value in table.numbers("regret") if value is not None]
    assert min(regrets) == 0
    tried = [row[2] for row in table.rows if row[0] == "best tried"]
    assert tried == sorted(tried, reverse=True)  # type: ignore[type-var]


def test_a_landscape_of_something_else_is_refused(host: PluginHost, tmp_path: Path) -> None:
    data = json.loads((DATA / "landscape.json").read_text())
    data["meta"]["trainer"] = "other"
    (tmp_path / "l.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match="which run search did not search"):
        Sources(DATA, host, tmp_path / "l.json").report(["search"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "has schema None"),
        ('{"schema": "wfbench/bench-search/1"}', "not a sound wfbench/bench-search/1"),
        ('{"schema": "wfbench/cross-evaluation/1", "judges": 3}', "not a sound"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(UsageError, match=said):
        Sources(tmp_path).report([str(tmp_path / "f.json")])


def test_a_file_that_is_missing_is_named_without_a_number(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        file_section(tmp_path / "f.json")
    assert str(caught.value) == f"cannot read {tmp_path / 'f.json'}: No such file or directory"


def test_the_units_of_an_evaluation_are_those_of_its_orders(tmp_path: Path) -> None:
    row = {"order": "B>A", "return": -1.0, "actions_changed": 0.0, "compliance": [0.5]}
    values = {"schema": "wfbench/cross-evaluation/1", "policy": "p", "definition": "choices@1"}
    values |= {"seed": 0, "by_the_order_given": 0.5, "by_other_orders": None}
    (tmp_path / "f.json").write_text(json.dumps({**values, "judges": ["B>A"], "rows": [row]}))
    *_, by_distance = file_section(tmp_path / "f.json").exhibits
    assert by_distance.table.rows == (("mean over orders", 0, 0.5, 1),)
    (tmp_path / "f.json").write_text(json.dumps({**values, "judges": [], "rows": []}))
    assert len(file_section(tmp_path / "f.json").exhibits) == 2


def test_a_run_that_is_cut_short_is_open(host: PluginHost, tmp_path: Path) -> None:
    run = Path(shutil.copytree(DATA / "search", tmp_path / "search"))
    lines = (run / "events.jsonl").read_bytes().splitlines(keepends=True)
    (run / "events.jsonl").write_bytes(b"".join(lines[:-1]) + b'{"torn')
    section = Sources(tmp_path, host).report(["search"]).sections[0]
    assert section.headline.outcome == "open"
    assert section.headline.says.startswith("not finished")
    assert any("wfbench run --resume" in check.says for check in section.checks)
    (run / "events.jsonl").write_bytes(lines[0])
    begun = Sources(tmp_path, host).report(["search"]).sections[0]
    assert begun.headline.says.startswith("not finished: 0 of 0")
