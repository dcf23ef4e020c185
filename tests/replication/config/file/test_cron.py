"""Cron lines that are accepted, and what is said of others."""

from __future__ import annotations

import pytest

from replication.config.file.cron import cron


@pytest.mark.parametrize(
    "line", ["0 3 * * sun", "*/15 0-6,22 1,15 jan-mar 1-5", "59 23 31 12 7", "", "5/10 * * * *"]
)
def test_a_cron_line_of_five_fields_is_kept(line):
    assert cron(f"  {line} ") == line


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0 3 * *", "has 4 of the five fields"),
        ("60 3 * * *", "'60' is not a valid minute of a cron line"),
        ("0 24 * * *", "'24' is not a valid hour"),
        ("0 3 0 * *", "'0' is not a valid day of the month"),
        ("0 3 * 13 *", "'13' is not a valid month"),
        ("0 3 * * 8", "'8' is not a valid day of the week"),
        ("0 3 * * mon-sun", "'mon-sun' is not a valid day of the week"),
        ("*/0 3 * * *", "'*/0' is not a valid minute"),
        ("@daily", "has 1 of the five fields"),
        ("0 3 * * x", "'x' is not a valid day of the week"),
        ("0 9-5 * * *", "'9-5' is not a valid hour"),
    ],
)
def test_any_other_is_refused_with_the_field_that_is_wrong(line, reason):
    with pytest.raises(ValueError, match=reason.replace("*", r"\*")):
        cron(line)
