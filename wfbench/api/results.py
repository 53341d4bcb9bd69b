"""What every result can do: give its values, show itself, be written as a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from wfbench.contract import ExitCode, UsageError

if TYPE_CHECKING:
    from wfbench.report.document import Report, Section

_FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".csv": "csv", ".xml": "junit"}

Options = Mapping[str, Mapping[str, Any]]
"""Options by plugin name: `{"shm": {"workers": 2}}`."""


@dataclass(frozen=True)
class Progress:
    """One step of a long call, as a `progress` callback gets it."""

    done: int
    total: int
    text: str
    """One line for a person; may be empty."""
    value: Any = None
    """What was finished: an event of a run, a sample, a claim."""


Values = Mapping[str, Any]
Rows = list[dict[str, Any]]

Watcher = Callable[[Progress], None]
"""Called after every step of a long call."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Result:
    """What a call found. Every subclass is a frozen dataclass.

    `to_dict()` gives its values, `rows()` a list of dicts for pandas, `report("html")` a report as
    text, `save("page.html")` writes one and `show()` prints it. A notebook shows the HTML report.
    """

    schema: ClassVar[str] = ""
    """Name and version of what `to_dict` returns, such as `bench/1`."""
    listed: ClassVar[str] = ""
    """Of a mere list: the key of its rows in what `to_dict` returns."""

    def __init_subclass__(cls, *, schema: str, listed: str = "") -> None:
        cls.schema, cls.listed = schema, listed
        dataclass(frozen=True, repr=False)(cls)

    @property
    def exit_code(self) -> ExitCode:
        """What the command line ends with after showing this."""
        return ExitCode.OK

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values: what `--json` prints."""
        from wfbench.store.event_log import plain

        return dict(plain(self._values()))

    def rows(self) -> Rows:
        """Return one dict per row of the result, as `pandas.DataFrame` takes them."""
        return self._rows()

    def report(self, form: str = "md") -> str:
        """Return the report as text: html, md, csv, junit, or a reporter plugin's format."""
        from wfbench.api.hosting import plugin_host
        from wfbench.report.formats.choosing import find_format

        return find_format(plugin_host(), form).render(self._document())

    def save(self, path: str | Path) -> Path:
        """Write the report; the suffix chooses the format: .html, .md, .csv or .xml (JUnit)."""
        from wfbench.store.files import write_whole

        target = Path(path)
        if target.suffix not in _FORMATS:
            raise UsageError(f"{target}: the suffix must be one of {', '.join(_FORMATS)}")
        write_whole(target, self.report(_FORMATS[target.suffix]).encode())
        return target

    def show(self) -> None:
        """Print the result to the terminal."""
        from wfbench.report import show

        show(self._document())

    def _repr_html_(self) -> str:
        return self.report("html")

    def __repr__(self) -> str:
        first = self._document().sections[0]
        return f"{type(self).__name__}({first.title}: {first.headline.says})"

    def _values(self) -> Values:
        return {self.listed: self._rows()}

    def _rows(self) -> Rows:
        tables = [one.table for section in self._document().sections for one in section.exhibits]
        if not tables:
            return []
        names = [column.name for column in tables[0].columns]
        return [dict(zip(names, row, strict=True)) for row in tables[0].rows]

    def _sections(self) -> Sequence[Section]:
        raise NotImplementedError

    def _document(self) -> Report:
        from wfbench.report import make_report

        found = make_report(*self._sections())
        # One time for all formats, however long it takes to write them.
        return replace(found, created=vars(self).setdefault("_created", found.created))


def as_list(given: Any) -> list[Any]:
    """Return one value, or several, as a list."""
    return [given] if isinstance(given, (str, Path, int, type)) else list(given)


def as_paths(names: str | Path | Sequence[str | Path]) -> list[str]:
    """Return one or several names as a list of texts."""
    return [str(name) for name in as_list(names)]
