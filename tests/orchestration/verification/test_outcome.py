"""The verdict of a verification, and what its report shows."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from orchestration.services.state_directory import StateDirectory
from orchestration.verification.outcome import (
    PartitionOutcome,
    RecordDifference,
    Speed,
    VerificationOutcome,
)
from orchestration.verification.report_files import reports_directory, store_report
from orchestration.verification.verification_report import (
    as_json,
    as_page,
    lines,
    sentence,
    speed_line,
)
from replication.errors import EnvironmentProblem
from replication.records.batch_comparison import OffsetPair
from replication.settings.file_settings import VerificationSettings

SPEED = Speed(3_000_000_000, 30.0, 2, 20.0)


def partition(number=0, **more):
    return PartitionOutcome(
        f"t-{number}", f"A.t-{number}", OffsetPair(0, 0), OffsetPair(9, 9), **more
    )


def outcome(*partitions, **more):
    return VerificationOutcome("A->B", 1_700_000_000_000, partitions, SPEED, **more)


GOOD = {"ranges": 1, "records": 9}
LATE = {"not_verified": "not copied yet", "waits": True}


@pytest.mark.parametrize(
    ("partitions", "verdict", "code"),
    [
        pytest.param([GOOD], "equal", 0, id="equal"),
        pytest.param([GOOD, LATE], "equal", 0, id="the rest is not copied yet"),
        pytest.param([GOOD, {"counts": {"lost": 1}}], "different", 1, id="one lost"),
        pytest.param([GOOD, {"not_verified": "created again"}], "incomplete", 2, id="incomplete"),
        pytest.param(
            [{"not_verified": "created again"}, {"counts": {"lost": 1}}],
            "different", 1, id="a difference says more",
        ),
        pytest.param([{"continues": True}], "nothing new", 0, id="verified before"),
        pytest.param([{}], "empty on both sides", 0, id="empty"),
        pytest.param([LATE], "nothing verified", 2, id="nothing is copied"),
        pytest.param([], "nothing verified", 2, id="no topic"),
        pytest.param([{"ranges": 1, "records": 0}], "nothing verified", 2, id="no record"),
    ],
)  # fmt: skip
def test_nothing_that_was_compared_is_never_equal(partitions, verdict, code):
    found = outcome(*(partition(number, **each) for number, each in enumerate(partitions)))
    assert (found.verdict, found.verdict.exit_code) == (verdict, code)


DIFFERENT = outcome(
    partition(
        ranges=3, records=1_000, counts={"lost": 2, "different value": 5},
        examples=(
            RecordDifference(("lost",), 4, None), RecordDifference(("different value",), 5, 6),
        ),
        no_counterpart={"deleted on the source": 7}, remarks=("<copying> has halted",),
    ),
    partition(1, not_verified="its anchor is of another topic"),
)  # fmt: skip


def test_a_report_says_what_is_different_and_where():
    assert sentence(DIFFERENT) == (
        "different: 1,000 records equal, 2 lost, 5 different value, 1 of 2 partitions not verified"
    )
    assert list(lines(DIFFERENT)) == [
        "t-0 -> A.t-0: 2 lost: source offset 4; …",
        "t-0 -> A.t-0: 5 different value: source offset 5, target offset 6; …",
        "t-0: 7 deleted on the source",
        "t-0: <copying> has halted",
        "t-1: not verified: its anchor is of another topic",
    ]
    assert "6.00 GB per minute and core" in speed_line(DIFFERENT)


def test_json_and_page_have_the_same_and_the_page_escapes_it():
    reported = json.loads(json.dumps(as_json(DIFFERENT)))
    found = [reported[each] for each in ("result", "equal", "lost", "different_value")]
    assert found == ["different", False, 2, 5]
    assert reported["partitions"][0]["examples"][0] == {
        "kinds": ["lost"],
        "source": 4,
        "target": None,
    }
    page = as_page(DIFFERENT)
    assert "&lt;copying&gt; has halted" in page
    assert "<copying>" not in page
    assert "different value" in page


@pytest.mark.parametrize(("transformed", "offset"), [(False, 3), (True, None)])
def test_a_partition_whose_results_go_to_several_has_no_target_offset(transformed, offset):
    found = replace(partition(**GOOD), end=OffsetPair(7, 3), transformed=transformed)
    (reported,) = as_json(outcome(found))["partitions"]
    assert reported["up_to"] == {"source": 7, "target": offset}


def test_reports_are_private_and_old_ones_are_deleted(tmp_path):
    directory = reports_directory(VerificationSettings(), StateDirectory(tmp_path))
    assert directory == tmp_path / "reports"
    assert reports_directory(
        VerificationSettings(reports="/x/y"), StateDirectory(tmp_path)
    ).is_absolute()
    first = store_report(DIFFERENT, directory, timedelta(days=30))
    other = directory / "mine.html"
    other.write_text("")
    for each in (first, first.with_suffix(".json"), other):
        os.utime(each, (time.time() - 31 * 86400,) * 2)
    second = store_report(outcome(partition(**GOOD)), directory, timedelta(days=30))
    assert second.name == "verification-A_to_B-20231114T221320-000.html"
    assert {*directory.iterdir()} == {second, second.with_suffix(".json"), other}
    assert second.stat().st_mode & 0o777 == 0o600


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match=r"set reports\.directory to another one"):
        store_report(DIFFERENT, tmp_path / "file", timedelta(days=1))
