"""What an operator is told about brokers that throttle a flow."""

from __future__ import annotations

from replication.supervision.flow_figures import EpochThrottle
from spark_jobs.budget.throttle_notice import throttle_notice


def reported(source_ms: int = 0, target_ms: int = 0, backed_off_to: int = 0) -> str:
    return throttle_notice(EpochThrottle(source_ms, target_ms, backed_off_to), "A", "B")


def test_which_cluster_throttles_is_named_with_how_long_and_what_the_flow_does():
    assert reported(target_ms=12_340, backed_off_to=950_000) == (
        "B throttled it for 12.3 s in the last epoch, by a quota of B; its byte rate is down to "
        "950,000 bytes/s until B throttles no more"
    )
    assert reported(source_ms=1_000) == (
        "A throttled it for 1.0 s in the last epoch, by a quota of A"
    )


def test_a_throttle_of_less_than_a_second_is_no_news():
    assert reported() == reported(source_ms=999, target_ms=999) == ""


def test_a_rate_that_was_not_raised_again_yet_is_told():
    assert reported(backed_off_to=70_000).startswith("its byte rate is down to 70,000 bytes/s")
