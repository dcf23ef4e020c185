"""Clusters for tests: real brokers, started once a session, killed and removed at its end."""

from __future__ import annotations

import itertools
import signal
import uuid
from typing import TYPE_CHECKING

import pytest
from support.secured_broker import Guarded

from replication.adapters.local.local_kafka import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Who is started in the background ignores SIGINT. Dagster gives SIGTERM whatever SIGINT has, and a
# JVM that inherits an ignored SIGTERM cannot be asked to end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_numbers = itertools.count(1)
# Records of tests are dated long ago: retention would take them half a minute after the start.
FOR_EVER = {"log.retention.ms": "-1"}


@pytest.fixture(scope="session")
def kafka_cluster(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., LocalCluster]]:
    """Start clusters: ``kafka_cluster(brokers=3)``, ``kafka_cluster(version="3.9.1")``."""
    directory = tmp_path_factory.mktemp("clusters")
    made: list[LocalCluster] = []

    def start(name: str = "", **options: object) -> LocalCluster:
        options["properties"] = {**FOR_EVER, **options.get("properties", {})}
        cluster = LocalCluster(name or f"c{next(_numbers)}", directory, **options)
        made.append(cluster)
        cluster.start()
        return cluster

    yield start
    for cluster in made:
        cluster.destroy()


@pytest.fixture(scope="session")
def source_cluster(kafka_cluster: Callable[..., LocalCluster]) -> LocalCluster:
    """One broker, shared by all tests: use topics of your own, do not stop it."""
    return kafka_cluster("source")


@pytest.fixture(scope="session")
def target_cluster(kafka_cluster: Callable[..., LocalCluster]) -> LocalCluster:
    """A second one, for copies."""
    return kafka_cluster("target")


@pytest.fixture(scope="session")
def guarded_clusters(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Guarded, Guarded]]:
    """A source and a target with authorizers, shared; whoever uses them says who may do what."""
    directory = tmp_path_factory.mktemp("guarded")
    both = Guarded("guarded-a", directory), Guarded("guarded-b", directory)
    yield both
    for each in both:
        each.cluster.destroy()


@pytest.fixture
def topic_name() -> Callable[..., str]:
    """Make topic names that no other test uses: ``topic_name("orders")``."""
    return lambda stem="topic": f"{stem}-{uuid.uuid4().hex[:8]}"
