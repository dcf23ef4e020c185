"""Schemas are fetched once, from the first registry that answers, and no password is told."""

from __future__ import annotations

import json
import socket
from contextlib import closing

import pytest
from support.network.schema_registry import LOGIN, Registry
from support.security.certificate_stores import identity

from replication.adapters.schema_registry import Schema, SchemaRegistry, UnknownSchema
from replication.errors import ClusterRejected, ClusterUnavailable, ConfigError

RECORD = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}


@pytest.fixture
def server():
    with closing(Registry(login=LOGIN).start()) as found:
        found.add(7, RECORD)
        yield found


def client(*urls, **more):
    return SchemaRegistry({"url": ", ".join(urls), "basic.auth.user.info": LOGIN, **more})


def nobody():
    """Return an address at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_schema_is_asked_for_once(server):
    registry = client(server.url + "/")
    assert [registry.schema(7) for _ in range(3)] == [Schema(json.dumps(RECORD))] * 3
    assert server.asked == ["/schemas/ids/7"]


def test_an_id_that_is_not_there_is_named_and_not_asked_for_at_every_record(server):
    registry = client(server.url)
    for _ in range(3):
        with pytest.raises(UnknownSchema, match="the schema registry has no schema 8"):
            registry.schema(8)
    assert server.asked == ["/schemas/ids/8"]
    server.add(9, {}, schemaType="PROTOBUF")
    with pytest.raises(UnknownSchema, match="schema 9 of the registry is PROTOBUF, not AVRO"):
        registry.schema(9)


def test_schemas_that_a_schema_names_come_with_it_each_before_what_needs_it(server):
    server.add(1, RECORD, references=[{"name": "A", "subject": "a/b", "version": 2}])
    server.subjects["a%2Fb/versions/2"] = {
        "schema": "first",
        "references": [{"name": "B", "subject": "b", "version": 1}],
    }
    server.subjects["b/versions/1"] = {"schema": "second"}
    assert client(server.url).schema(1).references == ("second", "first")
    server.add(2, RECORD, references=[{"name": "C", "subject": "c", "version": 1}])
    with pytest.raises(UnknownSchema, match="has no /subjects/c/versions/1"):
        client(server.url).schema(2)


def test_the_next_registry_is_asked_where_one_does_not_answer(server):
    assert client(nobody(), server.url).schema(7).text == json.dumps(RECORD)


@pytest.mark.parametrize("status", [500, 503, 302])
def test_a_registry_that_fails_or_sends_elsewhere_is_not_available_and_asked_again(server, status):
    registry = client(server.url)
    server.fails_with = status
    with pytest.raises(ClusterUnavailable, match=f"schema registry http://.*: HTTP {status}"):
        registry.schema(7)
    assert server.asked == ["/schemas/ids/7"]  # the password does not follow a redirect
    server.fails_with = 0
    assert registry.schema(7).text == json.dumps(RECORD)


def test_where_nobody_answers_the_address_is_named_without_a_login():
    place = nobody()
    registry = client(place.replace("://", "://me:hush@"))
    with pytest.raises(ClusterUnavailable) as caught:
        registry.schema(7)
    assert str(caught.value).startswith(f"schema registry {place}: ")
    assert "hush" not in str(caught.value) + repr(registry)


def test_a_wrong_password_is_named_as_such(server):
    with pytest.raises(ClusterRejected, match=r"HTTP 401: correct schema\.registry\.basic\.auth"):
        client(server.url, **{"basic.auth.user.info": "me:wrong"}).schema(7)
    login = server.url.replace("://", f"://{LOGIN}@")
    assert SchemaRegistry({"url": login}).schema(7).text == json.dumps(RECORD)


def test_what_is_no_address_and_no_schema_is_refused(server):
    with pytest.raises(ConfigError, match="must begin with https:// or http://"):
        client("file:///etc/passwd").schema(7)
    server.schemas[5] = {"id": 5}
    with pytest.raises(ClusterUnavailable, match="its answer is not a schema"):
        client(server.url).schema(5)


def test_tls_is_that_of_kafkas_clients_and_a_password_may_be_in_a_file(tmp_path):
    me, secrets = identity("localhost"), tmp_path / "secrets.properties"
    (tmp_path / "server.pem").write_text(me.key_pem() + me.chain_pem)
    (tmp_path / "trust.pem").write_text(me.authority_pem)
    secrets.write_text(f"login={LOGIN}\n")
    providers = {
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "basic.auth.user.info": f"${{file:{secrets}:login}}",
    }
    with closing(Registry(login=LOGIN).start(tmp_path / "server.pem")) as server:
        server.add(7, RECORD)
        trust = {"ssl.truststore.location": str(tmp_path / "trust.pem")}
        assert client(server.url, **providers, **trust).schema(7).text == json.dumps(RECORD)
        with pytest.raises(ClusterUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            client(server.url).schema(7)
