"""A wrong password locks no user: the clients of a process share a few logins a minute."""

from __future__ import annotations

import gc
import itertools
import socket
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from kafka.protocol.sasl import SaslAuthenticateRequest
from support.fakes.memory_network import Log
from support.network.fake_broker import FakeBroker

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.admin.planned_cluster import PlannedCluster
from replication.adapters.auth import client_settings, logins
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.topics.state_store import StateStore
from replication.errors import LoginRejected, ReplicationError
from replication.model import TopicPartition
from replication.state import FlowStatus

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


class World:
    """A broker, the file that clients read its password from, and a clock for their pauses."""

    def __init__(self, broker, folder):
        self.broker, self.file, self.now = broker, folder / "pw", 100.0
        self.login = {
            "bootstrap.servers": broker.address,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{MODULE} required username="u" password="${{dir:{folder}:pw}}";',
            "config.providers": "dir",
            "config.providers.dir.class": (
                "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
            ),
        }

    @property
    def asked(self):
        return len(self.broker.requests(SaslAuthenticateRequest))


@pytest.fixture
def world(tmp_path, monkeypatch):
    with FakeBroker() as broker:
        made = World(broker, tmp_path)
        monkeypatch.setattr(logins, "time", SimpleNamespace(monotonic=lambda: made.now))
        monkeypatch.setattr(client_settings, "_LOOK_EVERY_S", 0.0)
        yield made


def test_all_clients_of_a_process_try_a_wrong_password_six_times_in_the_first_minute(world):
    world.broker.password = b"right"
    world.file.write_text("wrong")
    admin = KafkaAdmin(to_librdkafka(world.login))
    planned = PlannedCluster(world.login, name="A")
    store = StateStore(to_librdkafka(world.login), 1)
    calls = (
        admin.cluster_id,
        planned.topics,
        planned.topic_names,
        lambda: store.read("s"),
        lambda: store.write("s", FlowStatus("A->B")),
    )
    began = time.monotonic()
    for call in itertools.islice(itertools.cycle(calls), 100):
        with pytest.raises(
            LoginRejected, match=r"authenticating at .* Invalid password \(user u\)"
        ):
            call()
        store.post("s", FlowStatus("A->B"))
        assert "Invalid password" in store.last_error
        world.now += 0.6
    assert world.asked == 6  # after 0, 1, 3, 7, 15 and 31 s
    assert time.monotonic() - began < 60  # of real time: the reason comes at once
    world.now += 600
    with pytest.raises(LoginRejected):
        admin.cluster_id()
    world.file.write_text("right")
    assert admin.cluster_id() == planned.cluster_id() == "fake"
    planned.close()


@pytest.fixture
def no_collector():
    """Let nothing end a client but the last reference to it."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_a_client_whose_login_is_refused_does_not_go_on_by_itself(world):
    world.broker.password = b"old"
    world.file.write_text("old")
    admin = KafkaAdmin(to_librdkafka(world.login), timedelta(seconds=1))
    assert admin.cluster_id() == "fake"
    world.broker.password = b"new"
    for each in list(world.broker._accepted):
        _cut(each)
    _until_refused(admin)
    before = world.asked
    time.sleep(2)  # it would ask again after one
    with pytest.raises(LoginRejected, match="Invalid password"):
        admin.cluster_id()
    assert world.asked == before
    world.file.write_text("new")
    assert admin.cluster_id() == "fake"


@pytest.mark.parametrize("ask", [KafkaAdmin.cluster_id, KafkaAdmin.topic_names])
def test_a_call_ends_where_the_login_is_refused_meanwhile(world, ask):
    """It went on for its 10 s, and librdkafka tried 11 times."""
    world.broker.password = b"old"
    world.file.write_text("old")
    admin = KafkaAdmin(to_librdkafka(world.login))
    ask(admin)
    world.broker.password = b"new"
    for each in list(world.broker._accepted):
        _cut(each)
    before, began = world.asked, time.monotonic()
    _until_refused(admin, ask)
    assert time.monotonic() - began < 9  # of 10 s
    assert world.asked - before <= 4


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("posts", [False, True], ids=["tail", "store"])
def test_neither_does_the_admin_client_beside_it_that_nobody_asks(world, posts):
    """A driver has one beside each tail: they tried three times a second, without end."""
    world.broker.password = b"old"
    world.file.write_text("old")
    world.broker.logs[TopicPartition("s", 0)] = Log()
    store = StateStore(to_librdkafka(world.login), 1)
    tail = store.tail("s")

    def is_refused() -> bool:
        if posts:
            store.post("s", FlowStatus("A->B"))
            return "Invalid password" in (store.last_error or "")
        try:
            tail.poll()
        except LoginRejected:
            return True
        return False

    store.exists("s") if posts else tail.catch_up()
    assert not is_refused()
    world.broker.password = b"new"
    for each in list(world.broker._accepted):
        _cut(each)
    deadline = time.monotonic() + 20
    while not is_refused():
        assert time.monotonic() < deadline
        time.sleep(0.1)

    def asked_in(seconds: float) -> int:
        before, end = world.asked, time.monotonic() + seconds
        while time.monotonic() < end:
            assert is_refused()
            time.sleep(0.1)
        return world.asked - before

    asked_in(2)  # until its own refusal is known
    assert asked_in(2) == 0  # it would have asked four times


def _until_refused(admin, ask=KafkaAdmin.cluster_id):
    """Ask until the client has found out that its connection is closed, and its login refused."""
    for _ in range(20):
        try:
            ask(admin)
        except LoginRejected:
            return
        except ReplicationError:  # of the connection that was cut
            continue
    pytest.fail("the login is not refused")


def _cut(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        connection.close()
