"""The clients that Dagster and the command keep, one for each set of properties in use."""

from support.settings.configs import a_flow

from orchestration.flows.kafka_clients import KafkaClusters


def with_password(flow, password):
    login = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'a.PlainLoginModule required username="me" password="{password}";',
    }
    clients = flow.clients.model_copy(update={"source_admin": login, "target_admin": login})
    return flow.model_copy(update={"clients": clients})


def test_flows_with_the_same_properties_share_a_client():
    clusters = KafkaClusters()
    one, other = (with_password(a_flow(source), "hush") for source in ("A", "C"))
    assert clusters.source(one) is clusters.source(one)
    assert clusters.source(one) is clusters.source(other)
    assert clusters.store(one) is clusters.store(other)


def test_bl_228_a_client_with_a_former_password_is_forgotten():
    clusters = KafkaClusters()
    one, other = (with_password(a_flow(source), "old") for source in ("A", "C"))
    for each in (one, other):
        clusters.source(each)
        clusters.store(each)
    first = clusters.source(one)
    one = with_password(one, "new")
    assert clusters.source(one) is not first
    assert clusters.source(other) is first  # it is in use
    clusters.store(one)
    assert len(clusters._admins) == len(clusters._stores) == 2
    other = with_password(other, "new")
    clusters.source(other)
    clusters.store(other)
    assert len(clusters._admins) == len(clusters._stores) == 1
