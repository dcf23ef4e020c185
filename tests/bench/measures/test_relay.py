"""The floor's own reading of Kafka's bytes, against a real broker."""

from __future__ import annotations

import pytest

from bench.measures.relay import relay_cost
from bench.records.gate import Dataset, closed_gate
from bench.tools import brokers

pytestmark = pytest.mark.integration


def test_the_relay_ends_when_every_record_has_passed(tmp_path):
    data = Dataset("numbers", partitions=3, records=30_000, size=1000)
    with brokers.running(tmp_path, quick=True) as pair:
        pair.create([data.topic], data.partitions)
        with closed_gate(pair.source, data) as gate:
            gate.open()
        spent, size = relay_cost(pair.source, data.topic, data.partitions, data.records)
    assert 0 < spent < 5
    assert 0.4 < size / data.records / data.size < 0.7
