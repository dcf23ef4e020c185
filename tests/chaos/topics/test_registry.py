"""A registry that refuses some requests, and answers the others as Confluent's does."""

from __future__ import annotations

from contextlib import closing

from chaos.topics.registry import MoodyRegistry, schema
from replication.adapters.schema_registry import SchemaRegistry
from replication.errors import ClusterUnavailable


def test_it_has_every_schema_and_refuses_some_requests():
    with closing(MoodyRegistry(seed=1)) as registry:
        refusals = []
        for number in range(20):
            try:
                found = SchemaRegistry({"url": registry.url}).schema(number)
            except ClusterUnavailable as error:
                refusals.append(str(error))
            else:
                assert found.text == schema(str(number))
    assert 0 < len(refusals) == registry.refused < 20
    assert all("HTTP 503" in each for each in refusals)
