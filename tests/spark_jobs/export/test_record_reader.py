"""Exported records as lines that a person can read."""

from __future__ import annotations

import json

from spark_jobs.export.record_reader import ExportedRecord, json_line


def test_text_is_shown_as_text_and_other_bytes_as_base64():
    headers = [("name", bytearray("ü".encode())), ("none", None), ("raw", bytearray(b"\xff"))]
    record = ExportedRecord("t", 1, 7, 99, None, bytearray(b"\x80\x81"), headers)
    assert json.loads(json_line(record)) == {
        "topic": "t",
        "partition": 1,
        "offset": 7,
        "timestamp": 99,
        "key": None,
        "value": {"base64": "gIE="},
        "headers": [["name", "ü"], ["none", None], ["raw", {"base64": "/w=="}]],
    }
