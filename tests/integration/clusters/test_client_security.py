"""Both client libraries against a broker with TLS and SASL, from Java's settings alone."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from support.security.certificate_stores import PASSWORD, identity, write_jks, write_pkcs12

from replication.adapters.auth.client_config import to_kafka_python, to_librdkafka
from replication.adapters.auth.oauth import UnsecuredTokenProvider
from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local.local_network import free_ports
from replication.adapters.wire import connect
from replication.adapters.wire.connection.open_connection import open_connection
from replication.errors import ClusterUnavailable, UntrustedConnection

pytestmark = pytest.mark.integration
SESSION_S = 3600  # until a login has to be renewed

HARD = 'a"b;c,d\\e#f$g h='
PACKAGE = "org.apache.kafka.common.security"
SERVER = identity("localhost")
NARROW, WIDE = "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"


def escaped(password):
    return password.replace("\\", "\\\\").replace('"', '\\"')


def listeners(folder, ports):
    """Return a broker's settings: plain text, SASL_SSL, and TLS that asks clients for a key."""
    plain, sasl, tls, old, new = ports
    store = write_jks(folder / "server.jks", SERVER, trust=False)
    trust = write_jks(folder / "server-trust.jks", SERVER, trust=True)
    start = "listener.name.sasl_ssl"
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},SASL_SSL://127.0.0.1:{sasl},"
        f"SSL://127.0.0.1:{tls},OLD://127.0.0.1:{old},NEW://127.0.0.1:{new},"
        "CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{plain},SASL_SSL://localhost:{sasl},"
        f"SSL://localhost:{tls},OLD://localhost:{old},NEW://localhost:{new}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        "SASL_SSL:SASL_SSL,SSL:SSL,OLD:SSL,NEW:SSL",
        "listener.name.old.ssl.enabled.protocols": "TLSv1.2",
        "listener.name.old.ssl.cipher.suites": WIDE,
        "listener.name.new.ssl.enabled.protocols": "TLSv1.3",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        f"{start}.plain.sasl.jaas.config": f"{PACKAGE}.plain.PlainLoginModule required "
        f'user_mirror="{escaped(HARD)}";',
        f"{start}.scram-sha-256.sasl.jaas.config": f"{PACKAGE}.scram.ScramLoginModule required;",
        f"{start}.scram-sha-512.sasl.jaas.config": f"{PACKAGE}.scram.ScramLoginModule required;",
        f"{start}.oauthbearer.sasl.jaas.config": f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule "
        'required unsecuredLoginStringClaim_sub="broker";',
        "connections.max.reauth.ms": str(SESSION_S * 1000),
        "listener.name.ssl.ssl.client.auth": "required",
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": PASSWORD,
    }


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    """Yield the ports of a secured broker; users ``mirror`` with the hard password exist."""
    folder = tmp_path_factory.mktemp("secured")
    cluster = LocalCluster("secured", folder)
    cluster._create()
    (node,) = cluster._nodes
    others = free_ports(4)
    cluster.properties = {
        key: value.replace("{controller}", str(node.controller_port))
        for key, value in listeners(folder, (node.port, *others)).items()
    }
    cluster.start()
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        change = UserScramCredentialUpsertion(
            "mirror", ScramCredentialInfo(mechanism, 4096), HARD.encode()
        )
        admin.alter_user_scram_credentials([change])["mirror"].result(20)
    yield others
    cluster.destroy()


def brokers_seen(java):
    """Return how many brokers each library sees."""

    async def refreshed() -> int:
        network = connect(java, "test")  # kafka-python opens its connections
        try:
            await network.refresh([])
        finally:
            await network.close()
        return sum(each >= 0 for each in network._connections.brokers)

    first = len(AdminClient({**to_librdkafka(java)}).list_topics(timeout=20).brokers)
    return first, asyncio.run(refreshed())


def trusting(tmp_path):
    return {
        "ssl.truststore.location": str(write_jks(tmp_path / "t.jks", SERVER, trust=True)),
        "ssl.truststore.password": PASSWORD,
    }


def login(mechanism):
    if mechanism == "OAUTHBEARER":
        return (
            f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required "
            'unsecuredLoginStringClaim_sub="mirror";'
        )
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return f'{PACKAGE}.{module} required username="mirror" password="{escaped(HARD)}";'


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_bl_098_both_libraries_log_in_with_the_hardest_password(broker, tmp_path, mechanism):
    java = {
        "bootstrap.servers": f"localhost:{broker[0]}",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": login(mechanism),
        **trusting(tmp_path),
    }
    assert brokers_seen(java) == (1, 1)


def test_a_connection_knows_how_long_the_broker_keeps_its_session(broker, tmp_path):
    java = {
        "bootstrap.servers": f"localhost:{broker[0]}",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": login("PLAIN"),
        **trusting(tmp_path),
    }
    connection = open_connection("localhost", broker[0], to_kafka_python(java), 20.0)
    connection.sock.close()
    assert SESSION_S - 60 < connection.expires_at - time.monotonic() <= SESSION_S


class _TokenEndPoint(BaseHTTPRequestHandler):
    """Issues tokens that the broker takes, and notes who asked for them and how."""

    asked: list[tuple[str, str]]

    def do_POST(self):
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        pair = self.headers["Authorization"].removeprefix("Basic ")
        self.asked.append((base64.b64decode(pair).decode(), form))
        token = UnsecuredTokenProvider("mirror").token()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"access_token": token, "expires_in": 3600}).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def token_end_point():
    """Yield the requests for a token so far, and the URL to ask."""
    kind = type("EndPoint", (_TokenEndPoint,), {"asked": []})
    with HTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield kind.asked, f"http://127.0.0.1:{server.server_port}/token"
        server.shutdown()
        thread.join()


def test_bl_103_each_library_fetches_its_tokens_with_client_credentials(
    broker, tmp_path, token_end_point
):
    asked, url = token_end_point
    java = {
        "bootstrap.servers": f"localhost:{broker[0]}",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.jaas.config": f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required "
        f'clientId="me" clientSecret="{escaped(HARD)}" scope="kafka";',
        **trusting(tmp_path),
    }
    assert brokers_seen(java) == (1, 1)
    assert set(asked) == {(f"me:{HARD}", "grant_type=client_credentials&scope=kafka")}
    assert len(asked) >= 2


def pem(tmp_path):
    path = tmp_path / "k.pem"
    path.write_text(SERVER.key_pem("kp") + SERVER.chain_pem)
    return path


FORMS = {
    "JKS": lambda p: {
        "ssl.keystore.location": str(write_jks(p / "k.jks", SERVER, trust=False)),
        "ssl.keystore.password": PASSWORD,
    },
    "PKCS12": lambda p: {
        "ssl.keystore.location": str(write_pkcs12(p / "k.p12", SERVER)),
        "ssl.keystore.password": PASSWORD,
        "ssl.keystore.type": "PKCS12",
    },
    "PEM file": lambda p: {
        "ssl.keystore.location": str(pem(p)),
        "ssl.key.password": "kp",
        "ssl.keystore.type": "PEM",
    },
    "PEM text": lambda _: {
        "ssl.keystore.key": SERVER.key_pem(),
        "ssl.keystore.certificate.chain": SERVER.chain_pem,
        "ssl.keystore.type": "PEM",
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_bl_101_both_libraries_show_a_client_key_of_every_form(broker, tmp_path, form):
    java = {
        "bootstrap.servers": f"localhost:{broker[1]}",
        "security.protocol": "SSL",
        **trusting(tmp_path),
        **FORMS[form](tmp_path),
    }
    assert brokers_seen(java) == (1, 1)


def by_address(broker, tmp_path):
    """Return settings that reach the broker by a name that is not in its certificate."""
    return {
        "bootstrap.servers": f"127.0.0.1:{broker[1]}",
        "security.protocol": "SSL",
        **trusting(tmp_path),
        **FORMS["PKCS12"](tmp_path),
    }


def test_bl_102_a_wrong_host_name_is_let_pass_only_when_the_check_is_off(broker, tmp_path):
    java = by_address(broker, tmp_path)
    assert brokers_seen({**java, "ssl.endpoint.identification.algorithm": ""}) == (1, 1)
    with pytest.raises(KafkaException):
        AdminClient({**to_librdkafka(java)}).list_topics(timeout=3)
    with pytest.raises(ClusterUnavailable, match="certificate is not trusted: IP address mismatch"):
        open_connection("127.0.0.1", broker[1], to_kafka_python(java), 3.0)


def tls_only(broker, tmp_path, listener, **more):
    """Return Java properties for the listener that takes one protocol: ``old`` 1.2, ``new`` 1.3."""
    port = {"old": broker[2], "new": broker[3]}[listener]
    keys = {f"ssl.{name.replace('_', '.')}": value for name, value in more.items()}
    return {
        "bootstrap.servers": f"localhost:{port}",
        "security.protocol": "SSL",
        **trusting(tmp_path),
        **keys,
    }


@pytest.mark.parametrize(
    ("listener", "more"),
    [
        ("old", {}),
        ("new", {}),
        ("old", {"enabled_protocols": "TLSv1.2"}),
        ("new", {"enabled_protocols": "TLSv1.3"}),
        ("new", {"cipher_suites": "TLS_AES_256_GCM_SHA384,TLS_AES_128_GCM_SHA256"}),
        ("old", {"cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}),
        ("old", {"enabled_protocols": "TLSv1.2,TLSv1.1,TLSv1", "protocol": "TLSv1.2"}),
    ],
)
def test_both_libraries_reach_a_broker_that_takes_one_protocol(broker, tmp_path, listener, more):
    assert brokers_seen(tls_only(broker, tmp_path, listener, **more)) == (1, 1)


@pytest.mark.parametrize(
    ("listener", "more", "reported"),
    [
        ("old", {"enabled_protocols": "TLSv1.3"}, "it does not speak TLSv1.3 (ssl.enabled.protoc"),
        ("new", {"protocol": "TLSv1.2"}, "it does not speak TLSv1.2 (ssl.enabled.protocols, "),
        ("old", {"cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"}, "HANDSHAKE_FAILURE"),
        ("new", {"cipher_suites": "TLS_AES_128_GCM_SHA256"},
         "it chose the cipher suite TLS_AES_256_GCM_SHA384, which ssl.cipher.suites does not list"),
    ],
)  # fmt: skip
def test_records_go_over_nothing_else_than_the_file_allows(
    broker, tmp_path, listener, more, reported
):
    java = tls_only(broker, tmp_path, listener, **more)
    host, port = java["bootstrap.servers"].split(":")
    with pytest.raises((ClusterUnavailable, UntrustedConnection)) as refused:
        open_connection(host, int(port), to_kafka_python(java), 20)
    assert reported in str(refused.value)


@pytest.mark.parametrize("more", [{"enabled_protocols": "TLSv1.3"}, {"cipher_suites": NARROW}])
def test_librdkafka_offers_nothing_of_tls_1_2_beyond_the_file(broker, tmp_path, more):
    java = tls_only(broker, tmp_path, "old", **more)
    with pytest.raises(KafkaException):
        AdminClient({**to_librdkafka(java), "log_level": 0}).list_topics(timeout=3)
