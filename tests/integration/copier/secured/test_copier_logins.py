"""Units copy between clusters with each way to log in, and say why a login is refused."""

from __future__ import annotations

import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from support.brokers.logins_cluster import MECHANISMS, PASSWORDS, USER, LoginsCluster, iam_files
from support.flows.copier_flows import WAIT_S, Flow, copy, feeding
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records

from replication.adapters.local_secured.secret_file import PROVIDERS
from replication.adapters.reachability import silent_clusters
from replication.adapters.wire import connect
from replication.adapters.wire.connection import connections
from replication.config.load import load_config

pytestmark = pytest.mark.integration
LIFE_S = 8.0  # of a token
REFUSED_S = 60.0  # an epoch that is over sooner: see ``ended_early``


class Way(NamedTuple):
    """One way to come to a cluster."""

    protocol: str
    mechanism: str = ""
    listener: str = ""
    user: str = USER
    password: str = ""

    def java(self, cluster) -> dict[str, str]:
        return cluster.java(**self._asdict())


RIGHT = [
    Way("PLAINTEXT"),
    Way("SSL"),
    Way("SSL", listener="MUTUAL"),
    *(Way("SASL_PLAINTEXT", each) for each in MECHANISMS),
    *(Way("SASL_SSL", each) for each in MECHANISMS),
    *(Way("SASL_SSL", each, "IAM") for each in ("AWS_MSK_IAM", "OAUTHBEARER")),
]
INVALID = "invalid credentials|Invalid username or password|HTTP 401"
# A way that is refused: what is said, and the setting that an operator has to look at.
REFUSED = {
    **{
        f"wrong password, {each}": (Way("SASL_SSL", each, password="wrong"), INVALID, "sasl.jaas")  # noqa: S106
        for each in MECHANISMS
    },
    **{
        f"unknown user, {each}": (Way("SASL_SSL", each, user="nobody"), INVALID, "sasl.jaas")
        for each in (*PASSWORDS, "OAUTHBEARER")
    },
    "another secret, IAM": (
        Way("SASL_SSL", "AWS_MSK_IAM", "IAM", "nobody"),
        "invalid_token",
        "sasl.jaas",
    ),
    "expired": (Way("SSL", listener="EXPIRED"), "expired", "ssl.truststore"),
    "foreign CA": (Way("SSL", listener="FOREIGN"), "self-signed", "ssl.truststore"),
    "other host": (Way("SSL", listener="ELSEWHERE"), "not valid for", "ssl.truststore"),
    "no client key": (Way("SSL", listener="KEYLESS"), "ssl.keystore.location", "ssl.truststore"),
}


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    directory = tmp_path_factory.mktemp("logins")
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda name: LoginsCluster.begin(name, directory), ("la", "lb")))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in iam_files(directory).items():
            patch.setenv(name, value)
        yield both
    for each in both:
        each.destroy()


def ended_early(report) -> bool:
    """Say whether a unit has ended before its epoch of ``REFUSED_S``, as one that is refused."""
    return report.ended_ms - report.started_ms < REFUSED_S * 1000


class Cell:
    """A flow whose file logs in at its source one way and at its target another way."""

    def __init__(self, clusters, folder: Path, ways: tuple[Way, Way]) -> None:
        self.flow = Flow(*clusters, {"shared": 1})
        logins = dict(zip((self.flow.alias, "B"), map(Way.java, ways, clusters), strict=True))
        self.lines = [
            f"clusters = {self.flow.alias}, B",
            f"{self.flow.name}.enabled = true",
            *(f"{key} = {value}" for key, value in PROVIDERS.items()),
            *(
                f"{alias}.{key} = {value}"
                for alias, java in logins.items()
                for key, value in java.items()
                if key not in PROVIDERS
            ),
        ]
        self.file = folder / f"{self.flow.alias}.properties"
        self.file.write_text("\n".join(self.lines))

    def topic(self, name: str, partitions: int) -> None:
        """Let the flow copy a new topic, and no other one."""
        for each in (self.flow.source, self.flow.target):
            kafka_records.create_topic(each.bootstrap_servers, name, partitions)
        self.flow.topics = {name: partitions}

    def spec(self, **more):
        clients = load_config(self.file).config.flow(self.flow.name).clients
        return self.flow.spec(
            source=clients.source_consumer, target=clients.target_producer, **more
        )

    def line(self, start: str) -> str:
        """Return key, file and line of the setting that begins so."""
        [(number, key)] = [
            (number, each.partition(" ")[0])
            for number, each in enumerate(self.lines, start=1)
            if each.startswith(start)
            and "password" not in each.partition(" ")[0]
            and not each.partition(" ")[0].endswith(".type")
        ]
        return f"{key} in {self.file.name}:{number}"


def test_bl_105_every_protocol_and_mechanism_copies_and_two_clusters_differ(
    clusters, tmp_path, topic_name
):
    """SEC: also BL-105, a plain source with a secured target and the reverse."""
    others = [*RIGHT[3:], *RIGHT[:3]]

    def copied(ways: tuple[Way, Way]) -> tuple[str, int]:
        cell = Cell(clusters, tmp_path, ways)
        cell.topic(topic_name(), 1)
        kafka_records.produce(cell.flow.here, *cell.flow.topics, kafka_records.some_records(50, 1))
        spec = cell.spec()
        with cell.flow.copying(spec) as reports:
            cell.flow.wait_copied()
        cell.flow.assert_equal()
        return reports[0].outcome, reports[0].records

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(copied, zip(RIGHT, others, strict=True)))
    assert found == [("clean", 50)] * len(RIGHT)


@pytest.mark.parametrize("side", [0, 1], ids=["source", "target"])
def test_use_27_whoever_is_refused_is_told_why_as_whom_and_in_which_line_it_is_set(
    clusters, tmp_path, side
):
    """SEC: the reason has user, key, file and line, and no password."""

    def refused(case: str) -> str:
        way, output, key = REFUSED[case]
        ways = (way, Way("PLAINTEXT")) if side == 0 else (Way("PLAINTEXT"), way)
        cell = Cell(clusters, tmp_path, ways)
        alias = (cell.flow.alias, "B")[side]
        report = copy(cell.spec(epoch_s=REFUSED_S))
        place = cell.line(f"{alias}.{key}")
        user = f"user {way.user}, " if way.mechanism else ""
        assert re.search(output, report.outcome), (case, report.outcome)
        assert report.outcome.endswith(f"({user}{place})"), (case, report.outcome)
        assert not re.search("wrong|Error|_ssl.c", report.outcome), (case, report.outcome)
        assert report.records == 0
        assert ended_early(report), case
        return case

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(refused, REFUSED)) == list(REFUSED)


def test_a_command_is_told_the_same(clusters, tmp_path):
    cell = Cell(clusters, tmp_path, (Way("SASL_SSL", "PLAIN", user="nobody"), Way("PLAINTEXT")))
    config = load_config(cell.file).config
    silent = silent_clusters({name: each.client for name, each in config.clusters.items()})
    assert list(silent) == [cell.flow.alias]
    place = cell.line(f"{cell.flow.alias}.sasl.jaas")
    assert silent[cell.flow.alias].endswith(
        f"Authentication failed: Invalid username or password (user nobody, {place})"
    )


def test_a_token_that_has_expired_is_refused_by_the_broker_and_the_next_one_is_fetched(
    clusters, tmp_path, topic_name
):
    cell = Cell(clusters, tmp_path, (Way("SASL_SSL", "OAUTHBEARER"), Way("PLAINTEXT")))
    cell.topic(topic_name(), 1)
    with clusters[0].issuing_expired_tokens():
        report = copy(cell.spec(epoch_s=REFUSED_S))
    place = cell.line(f"{cell.flow.alias}.sasl.jaas")
    assert re.search("invalid_token|expired", report.outcome), report.outcome
    assert ended_early(report)
    assert report.outcome.endswith(f"(user {USER}, {place})")
    kafka_records.produce(cell.flow.here, *cell.flow.topics, kafka_records.some_records(50, 1))
    deadline = time.monotonic() + WAIT_S  # a login that never worked is tried again after a pause
    while copy(cell.spec(generation=2, epoch_s=2.0)).outcome.endswith(f"(user {USER}, {place})"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    with cell.flow.copying(cell.spec(generation=3)):
        cell.flow.wait_copied()
    cell.flow.assert_equal()


def test_bl_103_tokens_expire_while_records_flow_and_the_end_point_is_away_for_a_moment(
    clusters, tmp_path, topic_name, monkeypatch
):
    """SEC: nothing is lost or repeated; on a busy machine a session may end before the next."""
    monkeypatch.setattr(connections, "_SWEEP_S", 0.1)
    both, networks = Way("SASL_SSL", "OAUTHBEARER"), []
    for each in clusters:
        each.serve_tokens(LIFE_S)
    cell = Cell(clusters, tmp_path, (both, both))
    cell.topic(topic_name(), 2)

    def noted(properties, client_id, verify):
        networks.append(connect(properties, client_id, verify))
        return networks[-1]

    def sessions():
        channels = (each._connections._channels.values() for each in networks)
        return [each.connection for those in channels for each in those]

    with cell.flow.copying(cell.spec(), noted) as reports, feeding(cell.flow, 2000):
        cell.flow.wait_moved(100)
        before = sessions()
        time.sleep(LIFE_S)
        for each in clusters:
            each.stop_tokens()
        time.sleep(LIFE_S / 8)  # what lives is renewed early enough to bridge that
        for each in clusters:
            each.start_tokens()
        time.sleep(LIFE_S / 4)
        wait_for(lambda: not any(each is one for each in sessions() for one in before), 60)
    with cell.flow.copying(cell.spec(generation=2)):
        cell.flow.wait_copied()
    assert reports[0].outcome == "clean"
    cell.flow.assert_equal()


# Source and target of ``test_merge_full`` log in with SCRAM and JKS stores; these do in other ways.
DRIVEN = {
    "plain": Way("SASL_SSL", "PLAIN"),
    "keys": Way("SSL", listener="MUTUAL"),
    "tokens": Way("SASL_PLAINTEXT", "OAUTHBEARER"),
    "iam": Way("SASL_SSL", "AWS_MSK_IAM", "IAM"),
}


@pytest.mark.slow
def test_bl_105_a_driver_logs_in_in_four_ways_at_once_and_mixes_none_up(
    clusters, tmp_path, topic_name
):
    """SEC: one Spark application, whose flows come to one source with different logins.

    Then the key of one of them is exchanged, and the source refuses the former one.
    """
    topic, (source, target) = topic_name("driven"), clusters
    kafka_records.create_topic(source.bootstrap_servers, topic, 2)
    kafka_records.produce(source.bootstrap_servers, topic, kafka_records.some_records(300, 2))
    logins = {alias: way.java(source) for alias, way in DRIVEN.items()}
    logins["B"] = Way("SASL_SSL", "SCRAM-SHA-512").java(target)
    lines = [
        f"clusters = {', '.join(logins)}",
        "replication.factor = 1",
        *(f"{key} = {value}" for key, value in PROVIDERS.items()),
        *(f"{alias}->B.enabled = true" for alias in DRIVEN),
        *(f"{alias}->B.topics = {topic}" for alias in DRIVEN),
        *(
            f"{alias}.{key} = {value}"
            for alias, java in logins.items()
            for key, value in java.items()
            if key not in PROVIDERS
        ),
    ]
    here = kafka_records.Reader(source.bootstrap_servers, topic)
    copies = [
        kafka_records.Reader(target.bootstrap_servers, f"{alias}.{topic}") for alias in DRIVEN
    ]

    def wait_copied() -> None:
        expected = [each.content for each in here.read()]
        wait_for(lambda: all(len(each.read()) == len(expected) for each in copies))
        for each in copies:
            assert [record.content for record in each.read()] == expected

    key = Path(logins["keys"]["ssl.keystore.location"])
    former = shutil.copy(key, tmp_path / f"former{key.suffix}")
    with closing(Application(source, target, tmp_path / "app")) as application:
        application.config.write_text("\n".join(lines))
        application.start()
        wait_copied()
        source.renew_client_key()
        kafka_records.produce(source.bootstrap_servers, topic, kafka_records.some_records(300, 2))
        wait_copied()
        assert application.drivers[-1].poll() is None
    [refusal] = silent_clusters(
        {"keys": {**logins["keys"], "ssl.keystore.location": str(former)}}
    ).values()
    assert "it wants a client's certificate that it trusts" in refusal
