"""Says whether a flow was verified lately, and whether all was equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.durations import format_duration, format_moment

if TYPE_CHECKING:
    from datetime import timedelta

    from replication.state import Verification


def verified_age(last: Verification | None, limit: timedelta, now_ms: int) -> tuple[bool, str]:
    """Say whether a good verification is younger than ``limit``, and the reason.

    A ``last`` one that found a difference fails, however young the last good one is.
    """
    allowed = format_duration(limit)
    if last is None:
        return False, f"nothing was verified yet; verify.max.age is {allowed}: isthmus verify FILE"
    last_verification = f"the last verification, of {format_moment(last.at_ms)} UTC,"
    if last.differences:
        return False, f"{last_verification} found {last.differences:,} differences: see its report"
    if not last.good_ms:
        return (
            False,
            f"{last_verification} ended with: {last.verdict}; none was good yet: see its report",
        )
    when = f"the last good verification is of {format_moment(last.good_ms)} UTC"
    if now_ms - last.good_ms > limit.total_seconds() * 1000:
        return False, f"{when}, longer ago than verify.max.age = {allowed}: isthmus verify FILE"
    return True, f"{when}; {last_verification} ended with: {last.verdict}, {last.records:,} records"
