"""What a log may hold, and what it must not."""

from __future__ import annotations

import pytest

from wfbench.contract import UsageError
from wfbench.store.events import SCHEMA, EventDecoder

LINE = {"schema": SCHEMA, "event": "run-finished", "env_steps_spent": 0, "time": {}}


@pytest.mark.parametrize("event", ["run-resumed", "worker-lost", "nonsense"])
def test_what_only_observers_receive_is_not_in_a_log(event):
    with pytest.raises(UsageError, match=f"line 1: this version does not know event '{event}'"):
        EventDecoder().decode({**LINE, "event": event}, "line 1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other/1"}, "its schema is 'other/1', not"),
        ({"event": 3}, "it has no event, or not as it should be"),
        ({"env_steps_spent": "0"}, "it has no env_steps_spent, or not"),
        ({"time": 1.0}, "it has no time, or not"),
    ],
)
def test_a_line_that_is_not_an_event_is_refused(change, message):
    with pytest.raises(UsageError, match=message):
        EventDecoder().decode({**LINE, **change}, "line 1")


def test_a_line_that_is_not_an_object_is_refused():
    with pytest.raises(UsageError, match="line 1: it is not a JSON object"):
        EventDecoder().decode([LINE], "line 1")
