"""Whether a driver follows the file as it is now."""

from __future__ import annotations

import pytest

from replication.state import FlowStatus
from replication.supervision.settings_check import LATE_MS, in_force

STATUS = FlowStatus("A->B", host="here", config="f1", config_read_ms=1_000)


@pytest.mark.parametrize(
    ("seen", "age_ms", "passed", "says"),
    [
        (("", "f1", STATUS), 0, True, "as read at 1970-01-01 00:00:01 UTC"),
        (("", "f2", STATUS), LATE_MS - 1, True, "within seconds"),
        (("", "f2", STATUS), LATE_MS, False, "other settings than this file"),
        (("f:3: x", "f1", STATUS), 0, False, "f:3: x (the settings that were read"),
        (("f:3: x", "f1", None), 0, False, "the edited file is not in force"),
        (("", "f1", None), 0, True, "no driver runs"),
        (("", "f1", FlowStatus("A->B")), LATE_MS, True, "an older release"),
        (("", "f1", FlowStatus("A->B", config="f1", config_problem="f:9")), 0, False, "f:9"),
    ],
)
def test_what_is_in_force(seen, age_ms, passed, says):
    problem, fingerprint, status = seen
    found = in_force(problem, fingerprint, 5_000, status, 5_000 + age_ms)
    assert found[0] is passed
    assert says in found[1]
