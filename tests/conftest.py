"""Clusters for tests, real brokers, and the order in which workers take the modules."""

from __future__ import annotations

import contextlib
import gc
import itertools
import signal
import uuid
from typing import TYPE_CHECKING

import hypothesis
import pytest
from support.brokers.secured_broker import Guarded

from replication.adapters.local import local_kafka
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local_secured import secured_cluster, users

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Who is started in the background ignores SIGINT. Dagster gives SIGTERM whatever SIGINT has, and a
# JVM that inherits an ignored SIGTERM cannot be asked to end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The same of `nohup`, which commands obey: a handler of ours is not inherited by what tests start.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# How long an example takes, or to draw some, says how busy the machine is.
hypothesis.settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy machine")
# `make test-fast` draws a third of the examples, `make test` all of them.
hypothesis.settings.register_profile(
    "fast", hypothesis.settings.get_profile("busy machine"), max_examples=30
)
# `make mutants` asks whether a test fails: the smallest example is for people, and takes minutes.
hypothesis.settings.register_profile(
    "mutants",
    hypothesis.settings.get_profile("busy machine"),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    database=None,
)

# The modules that take longest (`pytest --durations=60`), the longest first: so no worker is left
# with one of them when the others have nothing to do.
LONGEST = (
    "test_failback_on_brokers",
    "test_drill_on_brokers",
    "test_copier_secured",
    "test_driver_transforms",
    "test_driver_names",
    "test_copier_logins",
    "test_verified_transforms",
    "test_failover",
    "test_services",
    "test_backfill",
    "test_copier_crashes",
    "test_switchover_on_brokers",
    "test_merge_full",
    "test_faults_brokers",
    "test_driver_edits",
    "test_driver_acls",
    "test_kept_names",
    "test_states_shown",
    "test_file_backfill",
    "test_driver",
    "test_batch_runs",
    "test_copier_states",
    "test_driver_ends",
    "test_takeover_from_mm2",
    "test_driver_both_ways",
    "test_compare_clusters",
    "test_spark_standalone",
    "test_faults_target",
    "test_transform_runs",
    "test_local_kafka",
    "test_frozen_appenders",
    "test_mm2_clients",
    "test_group_offsets",
    "test_verify_clusters",
    "test_kubernetes_executors",
    "test_copier_transactions",
    "test_acl_sync_on_brokers",
    "test_copier_replicas",
    "test_faults_network",
    "test_copier_silence",
    "test_offsets",
    "test_copier_versions",
    "test_rewritten_sources",
    "test_other_readers",
    "test_copier",
)
_numbers = itertools.count(1)
# Of a start: other workers start brokers and drivers as well.
local_kafka._READY_S = secured_cluster._READY_S = 280.0
users._LIMIT_S = 120.0
# Records of tests are dated long ago: retention would take them half a minute after the start.
FOR_EVER = {"log.retention.ms": "-1"}


@pytest.hookimpl(trylast=True)  # after what shuffles them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest modules first, then the other ones with brokers, then the quick ones."""
    items.sort(key=_turn)


def pytest_collection() -> None:
    """Import all tests without the garbage collector: it would find nothing."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what was imported: it outlives all tests.

    Of the default, 700 objects, each example of a property makes some multiples.
    """
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


def _turn(item: pytest.Item) -> tuple[int, bool]:
    """Return the place of an item's module, and whether it is a last one there."""
    if item.path.stem in LONGEST:
        return LONGEST.index(item.path.stem), item.get_closest_marker("last") is not None
    return len(LONGEST) + (item.get_closest_marker("integration") is None), False


@pytest.fixture(scope="module")
def kafka_cluster(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., LocalCluster]]:
    """Start clusters that end with the module: ``kafka_cluster(brokers=3, version="3.9.1")``."""
    with _started_clusters(tmp_path_factory) as start:
        yield start


@pytest.fixture(scope="session")
def shared_cluster(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., LocalCluster]]:
    """Start clusters that end with the session."""
    with _started_clusters(tmp_path_factory) as start:
        yield start


@contextlib.contextmanager
def _started_clusters(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., LocalCluster]]:
    """Yield what starts a cluster; all that it started are killed and removed afterwards."""
    directory = tmp_path_factory.mktemp("clusters")
    made: list[LocalCluster] = []

    def start(name: str = "", **options: object) -> LocalCluster:
        options["properties"] = {**FOR_EVER, **options.get("properties", {})}
        cluster = LocalCluster(name or f"c{next(_numbers)}", directory, **options)
        made.append(cluster)
        cluster.start()
        return cluster

    try:
        yield start
    finally:
        for cluster in made:
            cluster.destroy()


@pytest.fixture(scope="session")
def source_cluster(shared_cluster: Callable[..., LocalCluster]) -> LocalCluster:
    """One broker, shared by all tests: use topics of your own, do not stop it."""
    return shared_cluster("source")


@pytest.fixture(scope="session")
def target_cluster(shared_cluster: Callable[..., LocalCluster]) -> LocalCluster:
    """A second one, for copies."""
    return shared_cluster("target")


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
