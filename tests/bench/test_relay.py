"""The floor's own reading of Kafka's bytes, against a real broker."""

from __future__ import annotations

import pytest

from bench import brokers
from bench.gate import Dataset, closed_gate
from bench.relay import relay_cpu

pytestmark = pytest.mark.integration


def test_the_relay_ends_when_every_record_has_passed(tmp_path):
    data = Dataset("numbers", partitions=3, records=30_000, size=1000)
    with brokers.running(tmp_path) as pair:
        pair.create([data.topic], data.partitions)
        with closed_gate(pair.source, data) as gate:
            gate.open()
        assert 0 < relay_cpu(pair.source, data.topic, data.partitions, data.records) < 5
