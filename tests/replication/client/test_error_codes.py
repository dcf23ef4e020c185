"""Error codes have Kafka's names and numbers."""

from __future__ import annotations

import kafka.errors
import pytest

from replication.client.error_codes import ErrorCode, named_error

# kafka-python keeps the names of old releases of Kafka here.
FORMER_NAMES = {
    "UNKNOWN_SERVER_ERROR": "UNKNOWN",
    "NONE": "NO_ERROR",
    "NOT_LEADER_OR_FOLLOWER": "NOT_LEADER_FOR_PARTITION",
    "MESSAGE_TOO_LARGE": "MESSAGE_SIZE_TOO_LARGE",
}


@pytest.mark.parametrize("code", ErrorCode)
def test_a_code_has_the_name_and_the_number_that_the_client_library_knows(code):
    found = kafka.errors.for_code(int(code))
    assert (found.message, found.errno) == (FORMER_NAMES.get(code.name, code.name), code)


def test_a_number_from_the_wire_is_found_by_its_name_and_an_unknown_one_is_not():
    again = {ErrorCode.REQUEST_TIMED_OUT: "again"}
    assert again.get(7) == "again"
    assert again.get(4711) is None
    assert f"error {ErrorCode.REQUEST_TIMED_OUT}" == "error 7"
    assert named_error(7) == named_error(ErrorCode.REQUEST_TIMED_OUT)
    assert (named_error(7), named_error(4711)) == ("error 7 (REQUEST_TIMED_OUT)", "error 4711")
    assert not ErrorCode.NONE
