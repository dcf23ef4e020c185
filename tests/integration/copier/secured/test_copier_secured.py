"""A unit copies over SASL_SSL, while sessions end and passwords and certificates change."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from support.brokers.sasl_ssl_broker import SaslSslCluster, trust_store
from support.flows.copier_flows import Flow, feeding
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records
from support.security.certificate_stores import identity

from bench.threads import working
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.topics.state_store import StateStore
from replication.adapters.wire import connect
from replication.adapters.wire.connection import connections
from replication.model import Desired, FlowState
from replication.state import Intent, status_topic

pytestmark = pytest.mark.integration
SESSION_S = 8  # of a login, on both clusters: a busy machine has 1.1 s at least for the next one


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """Yield a source and a target whose clients log in over TLS, each with its own authority."""
    directory = tmp_path_factory.mktemp("secured")
    both = [SaslSslCluster(name, directory) for name in ("secured-a", "secured-b")]
    with ThreadPoolExecutor() as pool:
        for each in both:
            pool.submit(each.begin, SESSION_S * 1000, identity("localhost", each.name))
    yield both
    for each in both:
        each.destroy()


class Secured:
    """A flow between both whose passwords are in files, and its clients' Java properties."""

    def __init__(self, clusters, folder, topic, suffixes=("jks", "p12")) -> None:
        self.clusters, self.folder = clusters, folder
        for each in clusters:
            kafka_records.create_topic(each.bootstrap_servers, topic, 2)
        self.flow = Flow(*clusters, {topic: 2})
        self.stores = [
            folder / f"{each.name}.{suffix}"
            for each, suffix in zip(clusters, suffixes, strict=True)
        ]
        for each, store in zip(clusters, self.stores, strict=True):
            self.set_password(each, f"first of {each.name}")
            trust_store(store, each.who)

    def set_password(self, cluster, password: str) -> None:
        cluster.set_password(password)
        (self.folder / cluster.name).write_text(password)

    @property
    def logins(self):
        """Return the Java properties of the source and of the target."""
        provider = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
        return [
            each.login(f"${{dir:{self.folder}:{each.name}}}")
            | trust_store(store, each.who)
            | {"config.providers": "dir", "config.providers.dir.class": provider}
            for each, store in zip(self.clusters, self.stores, strict=True)
        ]

    def spec(self, **more):
        source, target = self.logins
        return self.flow.spec(source=source, target=target, **more)


@pytest.mark.parametrize("suffixes", [("jks", "p12"), ("p12", "jks")], ids="->".join)
def test_records_are_copied_over_sasl_ssl_with_scram_and_stores_of_both_kinds(
    clusters, tmp_path, topic_name, suffixes
):
    secured = Secured(clusters, tmp_path, topic_name("secured"), suffixes)
    flow = secured.flow
    for topic in flow.topics:
        kafka_records.produce(flow.here, topic, kafka_records.some_records(300, 2))
    spec = secured.spec()
    with flow.copying(spec) as reports:
        flow.wait_copied()
    assert reports[0].outcome == "clean"
    flow.assert_equal()


def test_bl_237_sessions_end_under_load_and_no_connection_is_lost(
    clusters, tmp_path, topic_name, monkeypatch
):
    monkeypatch.setattr(connections, "_SWEEP_S", 0.1)
    secured, networks = Secured(clusters, tmp_path, topic_name("sessions")), []

    def noted(properties, client_id, verify):
        networks.append(connect(properties, client_id, verify))
        return networks[-1]

    def channels():
        return [each for net in networks for each in net._connections._channels.values()]

    def are_well(those) -> bool:
        return channels()[: len(those)] == those and not any(each.error for each in those)

    def kept() -> bool:
        """Say whether all connections outlive their first sessions, by new logins in place."""
        before, logins = channels(), sum(each.logins for each in clusters)
        sessions = [each.connection for each in before]
        deadline = time.monotonic() + 2 * SESSION_S
        while any(each.connection in sessions for each in before):
            if not are_well(before) or time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        made = sum(each.logins for each in clusters) - logins
        return are_well(before) and made <= 3 * len(before)

    flow = secured.flow
    with flow.copying(secured.spec(), noted) as reports, feeding(flow, 1000):
        flow.wait_moved(100)
        first = channels()
        # On a busy machine a session may end before the next login; not time after time.
        assert any(kept() for _ in range(5))
        unbroken = are_well(first)
    with flow.copying(secured.spec(generation=2)):
        flow.wait_copied()
    assert reports[0].outcome == "clean"
    if unbroken:  # else a request was cut off, and what has arrived of it was counted
        assert reports[0].takeovers == 0
    flow.assert_equal()


def test_bl_228_new_passwords_and_certificates_need_no_restart(clusters, tmp_path, topic_name):
    secured, target = Secured(clusters, tmp_path, topic_name("renewed")), clusters[1]
    flow, login = secured.flow, secured.logins[1]
    admin, store = KafkaAdmin(to_librdkafka(login)), StateStore(to_librdkafka(login), 1)
    tail, topic = store.tail(status_topic(flow.alias)), status_topic(flow.alias)
    store.write(topic, before := Intent(flow.name, Desired.PAUSE, "before"))
    assert before in tail.catch_up()
    assert topic in admin.topic_names()
    with flow.copying(secured.spec()) as reports, feeding(flow, 500):
        flow.wait_moved(100)
        renewed = identity("localhost", "renewed")
        trust_store(secured.stores[1], renewed)
        target.set_password("second")  # the file that clients read it from follows later
        target.renew_certificate(renewed)
        refused = target.refused_logins
        wait_for(lambda: target.refused_logins > refused + 2)
        for each in clusters:
            secured.set_password(each, "second")
        flow.wait_moved(1000)
        store.write(topic, after := Intent(flow.name, Desired.RUN, "after"))
        assert after in tail.catch_up()
        assert topic in admin.topic_names()
    with flow.copying(secured.spec(generation=2)):
        flow.wait_copied()
    assert (reports[0].outcome, reports[0].not_running) == ("clean", 0)
    flow.assert_equal()
    tail.close()
    store.close()


@contextmanager
def filling(application: Application, topic: str):
    """Write 400 records a second in the background; yields what counts the portions."""
    ended, portions = threading.Event(), []

    def work() -> None:
        while not ended.wait(0.25):
            application.produce(topic, 100, seed=len(portions))
            portions.append(None)

    with working(ended, work):
        yield portions


@pytest.mark.slow
def test_bl_228_a_driver_needs_no_restart_either(clusters, tmp_path, topic_name):
    """SEC: both clusters get another password, and a certificate of another authority.

    It begins with a wrong password, whose refusals the broker counts.
    """
    secured = Secured(clusters, tmp_path, topic_name("unused"))
    logins = [
        {key: value for key, value in each.items() if not key.startswith("config.providers")}
        for each in secured.logins
    ]
    providers = "".join(
        f"{key} = {value}\n"
        for key, value in secured.logins[0].items()
        if key.startswith("config.providers")
    )
    home = tmp_path / "app"
    with closing(Application(*clusters, home, providers, tuple(logins))) as application:
        topic = application.topic("driven")
        (tmp_path / clusters[0].name).write_text("wrong")
        refused = clusters[0].refused_logins
        application.start()
        wait_for(lambda: clusters[0].refused_logins > refused)
        time.sleep(15)  # s: attempts are 0, 1, 3 and 7 s after the first one
        assert clusters[0].refused_logins - refused <= 5
        secured.set_password(clusters[0], f"first of {clusters[0].name}")
        application.await_state(FlowState.RUNNING)
        with filling(application, topic) as portions:
            wait_for(lambda: len(portions) > 4)
            before = application.status()
            for each, store in zip(clusters, secured.stores, strict=True):
                renewed = identity("localhost", f"renewed {each.name}")
                trust_store(store, renewed)
                each.set_password("third")  # the file that the driver reads follows later
                refused = each.refused_logins
                each.renew_certificate(renewed)
                wait_for(lambda now=each, n=refused: now.refused_logins > n)
                secured.set_password(each, "third")
                count = len(portions)
                wait_for(lambda n=count: len(portions) > n + 4)
        wait_for(lambda: application.is_copied(topic))
        after = application.await_state(FlowState.RUNNING)
    assert (after.pid, after.generation) == (before.pid, before.generation)
