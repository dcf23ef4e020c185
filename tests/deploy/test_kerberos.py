"""Records are copied by clients that log in with Kerberos, at a KDC of Debian's.

Needs the packages krb5-kdc and krb5-admin-server, and Python's gssapi, which libkrb5-dev builds. So
``make test-deploy`` runs it, and ``make test`` does not. The driver needs a confluent-kafka that
is built with Kerberos too.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec

import pytest
from support.brokers.kdc import REALM, Kdc, KerberosCluster
from support.flows.copier_flows import Flow, copy
from support.flows.spark_driver import Application, wait_for
from support.records import kafka_records

from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.auth.kerberos import librdkafka_has_kerberos
from replication.errors import ConfigError
from replication.model import FlowState

pytestmark = [
    pytest.mark.integration,
    pytest.mark.debian,
    pytest.mark.skipif(not find_spec("gssapi"), reason="needs pip install 'isthmus[kerberos]'"),
]


@pytest.fixture(scope="module")
def kdc(tmp_path_factory):
    assert shutil.which("krb5kdc"), "install Debian's krb5-kdc and krb5-admin-server"
    made = Kdc(tmp_path_factory.mktemp("kdc"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in made.environment.items():
            patch.setenv(name, value)
        patch.setenv("KRB5CCNAME", f"FILE:{made.folder}/nobodys-tickets")
        yield made
    made.stop()


@pytest.fixture(scope="module")
def clusters(kdc, tmp_path_factory):
    directory, line = tmp_path_factory.mktemp("kerberos"), kdc.login("kafka/localhost")
    both = [KerberosCluster(name, directory) for name in ("ka", "kb")]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda each: each.begin(kdc, line), both))
    yield both
    for each in both:
        each.destroy()


@pytest.fixture(scope="module")
def lines(kdc):
    """JAAS lines of two principals of one realm."""
    return {each: kdc.login(each) for each in ("mirror", "writer")}


def flow_of(clusters, topic: str) -> Flow:
    for each in clusters:
        kafka_records.create_topic(each.bootstrap_servers, topic, 2)
    return Flow(*clusters, {topic: 2})


def test_a_unit_copies_as_one_principal_from_the_source_and_as_another_one_to_the_target(
    clusters, lines, topic_name
):
    """SEC: GSSAPI; two logins of one process never share tickets."""
    flow = flow_of(clusters, topic_name())
    kafka_records.produce(flow.here, *flow.topics, kafka_records.some_records(300, 2))
    ways = {
        "source": clusters[0].login(lines["mirror"]),
        "target": clusters[1].login(lines["writer"]),
    }
    with flow.copying(flow.spec(**ways)) as reports:
        flow.wait_copied()
    assert (reports[0].outcome, reports[0].records) == ("clean", 300)
    flow.assert_equal()


def test_what_keeps_a_client_from_a_ticket_is_said_in_kerberos_own_words(
    clusters, kdc, lines, topic_name
):
    flow = flow_of(clusters, topic_name())

    def outcome(source) -> str:
        report = copy(flow.spec(source=source, target=clusters[1].login(lines["writer"])))
        assert report.records == 0
        return report.outcome

    foreign = kdc.login("stranger", kdc.folder / "mirror.keytab")
    refused = outcome(clusters[0].login(foreign))
    assert f"Kerberos: no ticket for stranger@{REALM} with the key table {kdc.folder}" in refused
    assert "user stranger" in refused
    wrong = {"sasl.kerberos.service.name": "nokafka"}
    refused = outcome(clusters[0].login(lines["mirror"], **wrong))
    assert "Server nokafka/localhost" in refused
    assert "not found in Kerberos database" in refused


def test_a_kdc_that_is_away_is_waited_for(clusters, kdc, topic_name):
    flow, line = flow_of(clusters, topic_name()), kdc.login("early")
    kafka_records.produce(flow.here, *flow.topics, kafka_records.some_records(50, 2))
    kdc.stop()
    ways = {"source": clusters[0].login(line), "target": clusters[1].login(line)}
    try:
        outcome = copy(flow.spec(epoch_s=10.0, **ways)).outcome
    finally:
        kdc.start()
    assert "Cannot contact any KDC" in outcome
    with flow.copying(flow.spec(generation=2, **ways)):
        flow.wait_copied()
    flow.assert_equal()


def test_librdkafka_logs_in_too_or_one_line_says_what_to_install(clusters, lines, topic_name):
    topic = topic_name()
    kafka_records.create_topic(clusters[0].bootstrap_servers, topic, 1)
    given = clusters[0].login(lines["mirror"])
    if not librdkafka_has_kerberos():
        with pytest.raises(ConfigError, match="built with Kerberos, which its wheels are not"):
            to_librdkafka(given)
        return
    assert topic in KafkaAdmin(to_librdkafka(given)).topic_names()
    with pytest.raises(ConfigError, match="are of one Kerberos realm"):
        to_librdkafka(clusters[1].login(lines["writer"]))


@pytest.mark.skipif(
    not librdkafka_has_kerberos(), reason="confluent-kafka is built without Kerberos"
)
def test_a_driver_copies(clusters, lines, tmp_path):
    logins = tuple(each.login(lines["mirror"]) for each in clusters)
    with closing(Application(*clusters, tmp_path / "app", "", logins)) as application:
        topic = application.topic("driven")
        application.start()
        application.await_state(FlowState.RUNNING)
        application.produce(topic, 300, seed=1)
        wait_for(lambda: application.is_copied(topic))
