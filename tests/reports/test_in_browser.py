"""Reports in a real browser: nothing is loaded, nothing fails, everything fits and can be read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.report.formats.html import render_html
from wfbench.report.sections.sources import Sources

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="selenium is not installed; tox run -e reports installs it"
)
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if BROWSER is None or DRIVER is None:
    pytest.skip(
        "chromium or chromedriver is missing: apt-get install chromium chromium-driver",
        allow_module_level=True,
    )

DATA = Path(__file__).parents[1] / "formats" / "data"
RESULTS = ["search", "matrix", "bench", "landscape.json", "searchers.json"]
PHONE, DESKTOP = (390, 844), (1280, 900)
SIZES = pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
HOSTILE = (
    "<img src=x onerror=document.title='bad'><script>document.title='bad'</script>" + "w" * 200
)

Driver = Any


@pytest.fixture
def no_leaks() -> None:
    """A browser starts and ends processes as it likes; it is closed when all tests are done."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of every kind of result, and one with strings that nobody would want to obey."""
    folder = tmp_path_factory.mktemp("pages")
    host = load_plugins(PluginSettings(external=False))
    everything = Sources(DATA, host, DATA / "landscape.json").report(
        [str(DATA / name) for name in RESULTS]
    )
    run = Path(shutil.copytree(DATA / "search", folder / "run"))
    config = json.loads((run / "config.json").read_text())
    config["run"] = config["plugins"]["trainer"]["label"] = HOSTILE
    (run / "config.json").write_text(json.dumps(config))
    hostile = Sources(folder, host).report(["run"])
    found = {"everything": folder / "everything.html", "hostile": folder / "hostile.html"}
    found["everything"].write_text(render_html(everything))
    found["hostile"].write_text(render_html(hostile))
    return found


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    started = webdriver.Chrome(options=options, service=service)
    yield started
    started.quit()


def _open(driver: Driver, page: Path, size: tuple[int, int], scheme: str = "light") -> None:
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": size[0],
            "height": size[1],
            "deviceScaleFactor": 1,
            "mobile": size == PHONE,
        },
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    for log in ("browser", "performance"):
        driver.get_log(log)
    driver.get(page.as_uri())


def _requests(driver: Driver) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


@pytest.mark.parametrize("name", ["everything", "hostile"])
@SIZES
@SCHEMES
def test_a_page_loads_nothing_and_reports_no_error(
    name: str, size: tuple[int, int], scheme: str, driver: Driver, pages: dict[str, Path]
) -> None:
    _open(driver, pages[name], size, scheme)
    assert _requests(driver) in ([pages[name].as_uri()], [pages[name].as_uri(), "data:,"])
    assert driver.get_log("browser") == []
    assert driver.title.endswith("· wfbench")
    assert driver.execute_script("return document.querySelectorAll('img, script').length") == 0


@pytest.mark.parametrize("name", ["everything", "hostile"])
@SIZES
@pytest.mark.parametrize("unfolded", [False, True], ids=["folded", "unfolded"])
def test_a_page_is_as_wide_as_the_screen(
    *, name: str, size: tuple[int, int], unfolded: bool, driver: Driver, pages: dict[str, Path]
) -> None:
    _open(driver, pages[name], size)
    if unfolded:
        script = "document.querySelectorAll('details').forEach(one => one.open = true)"
        driver.execute_script(script)
    assert driver.execute_script("return window.innerWidth") == size[0]
    assert driver.execute_script("return document.documentElement.scrollWidth") <= size[0]


CHARTS = """
return [...document.querySelectorAll('figure')].map(figure => {
  const shown = [...figure.querySelectorAll('svg')].filter(
    svg => svg.getBoundingClientRect().width);
  return {
    title: figure.querySelector('h3').textContent,
    drawn: figure.querySelectorAll('svg').length,
    shown: shown.length,
    inside: shown.every(svg => {
      const box = svg.getBoundingClientRect(), page = figure.getBoundingClientRect();
      return box.height > 40 && box.left >= page.left && box.right <= page.right;
    }),
    outside: shown.flatMap(svg => {
      const box = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('text')].filter(text => {
        const one = text.getBoundingClientRect();
        return one.left < box.left - 2 || one.right > box.right + 2
          || one.top < box.top - 2 || one.bottom > box.bottom + 2;
      }).map(text => text.textContent);
    }),
    smallest: Math.min(...shown.flatMap(svg => {
      const zoom = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      return [...svg.querySelectorAll('text')].map(
        text => zoom * parseFloat(getComputedStyle(text).fontSize));
    })),
    data: figure.querySelectorAll('details table tbody tr').length,
    command: figure.querySelector('.command code').textContent,
  };
});
"""


@pytest.mark.parametrize("name", ["everything", "hostile"])
@SIZES
def test_every_chart_is_there_whole_and_readable_with_data_and_command(
    name: str, size: tuple[int, int], driver: Driver, pages: dict[str, Path]
) -> None:
    _open(driver, pages[name], size)
    charts = driver.execute_script(CHARTS)
    assert len(charts) >= (20 if name == "everything" else 5)
    for chart in charts:
        assert (chart["drawn"], chart["shown"], chart["inside"]) == (2, 1, True), chart["title"]
        assert chart["outside"] == [], chart["title"]
        assert chart["smallest"] >= 9.5, chart["title"]
        assert chart["data"] > 0, chart["title"]
        assert chart["command"].startswith("wfbench "), chart["title"]


def test_the_summary_comes_first_and_leads_to_its_sections(
    driver: Driver, pages: dict[str, Path]
) -> None:
    _open(driver, pages["everything"], DESKTOP)
    script = """
    const links = [...document.querySelectorAll('.summary a')];
    return [
      document.querySelector('main').firstElementChild.className,
      links.length,
      links.every(link => document.querySelector(link.getAttribute('href') + ' h2')
        .textContent === link.textContent),
      document.querySelectorAll('section.source').length,
    ];
    """
    first, links, right, sections = driver.execute_script(script)
    assert (first, right) == ("summary", True)
    assert links == sections >= 8


CONTRAST = """
const light = rgb => {
  const parts = rgb.match(/[\\d.]+/g).slice(0, 3).map(value => value / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const behind = one => {
  for (; one; one = one.parentElement) {
    const colour = getComputedStyle(one).backgroundColor;
    if (colour !== 'rgba(0, 0, 0, 0)') return colour;
  }
  return 'rgb(255, 255, 255)';
};
const found = [];
for (const one of document.querySelectorAll('h1, h2, h3, p, dt, dd, summary, code, li, .badge')) {
  const pair = [light(getComputedStyle(one).color), light(behind(one))].sort((a, b) => b - a);
  const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
  if (ratio < 4.5) found.push([one.className || one.tagName, ratio]);
}
return [found, light(getComputedStyle(document.body).backgroundColor)];
"""


@SCHEMES
def test_text_stands_out_in_light_and_in_dark(
    scheme: str, driver: Driver, pages: dict[str, Path]
) -> None:
    _open(driver, pages["everything"], DESKTOP, scheme)
    faint, page = driver.execute_script(CONTRAST)
    assert faint == []
    assert (page > 0.5) == (scheme == "light")
