import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.net.manager import KafkaConnectionManager
from support.security.certificate_stores import PASSWORD, identity, write_jks, write_pkcs12

from replication.adapters.auth.client_config import to_kafka_python, to_librdkafka
from replication.adapters.auth.oauth import ClientCredentials, TokenProvider
from replication.errors import ClusterUnavailable, ConfigError

HARD = 'a"b;c,d\\e#f$g h='
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def jaas(password, module=SCRAM):
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    return f'{module} required username="mirror" password="{escaped}";'


def client(**more):
    return {"bootstrap.servers": "h1:9092, h2:9093", **more}


def sasl(mechanism="SCRAM-SHA-512", line=None, protocol="SASL_PLAINTEXT", **more):
    return client(**{
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas("hush") if line is None else line,
        **more,
    })  # fmt: skip


def test_a_plain_client_needs_addresses_alone():
    assert to_librdkafka(client()) == {
        "bootstrap.servers": "h1:9092,h2:9093",
        "security.protocol": "plaintext",
    }
    assert to_kafka_python(client()) == {
        "bootstrap_servers": ["h1:9092", "h2:9093"],
        "security_protocol": "PLAINTEXT",
    }


def test_bl_098_a_password_with_every_special_character_reaches_both_libraries():
    given = sasl(line=jaas(HARD))
    assert to_librdkafka(given)["sasl.password"] == HARD
    assert to_kafka_python(given)["sasl_plain_password"] == HARD


def test_bl_098_the_same_password_may_come_from_a_placeholder(tmp_path):
    secret = tmp_path / "s.properties"
    secret.write_text(r"pw=a\\\"b;c,d\\\\e#f$g h=")
    given = sasl(line=f'{SCRAM} required username="mirror" password="${{file:{secret}:pw}}";')
    given |= {
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }
    assert to_librdkafka(given)["sasl.password"] == HARD
    assert to_kafka_python(given)["sasl_plain_password"] == HARD


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_mechanism_with_a_password_is_passed_on(mechanism):
    assert to_librdkafka(sasl(mechanism))["sasl.mechanism"] == mechanism
    assert to_kafka_python(sasl(mechanism)) == {
        "bootstrap_servers": ["h1:9092", "h2:9093"],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "mirror",
        "sasl_plain_password": "hush",
    }


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param(sasl("GSSAPI"), "sasl.mechanism = GSSAPI needs", id="Kerberos"),
        pytest.param(client(**{"security.protocol": "SASL_SSL"}), "GSSAPI", id="no mechanism"),
        pytest.param(client(**{"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}),
                     "needs sasl.jaas.config", id="no login"),
        pytest.param(sasl(line=f'{SCRAM} required username="u";'), "has no password",
                     id="no password"),
        pytest.param({}, "bootstrap.servers is empty", id="no address"),
        pytest.param(client(**{"request.timeout.ms": "soon"}), "request.timeout.ms: 'soon'",
                     id="no number"),
        pytest.param(sasl("OAUTHBEARER", "x.OAuthBearerLoginModule required;"),
                     "needs sasl.oauthbearer.token.endpoint.url", id="no end-point"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("convert", [to_librdkafka, to_kafka_python])
def test_what_cannot_connect_is_refused_with_the_key(convert, given, why):
    with pytest.raises(ConfigError, match=why):
        convert(given)


def test_bl_102_the_systems_authorities_are_used_and_the_host_name_is_checked():
    given = client(**{"security.protocol": "SSL"})
    rd, py = to_librdkafka(given), to_kafka_python(given)
    assert rd["ssl.ca.location"] == "probe"
    assert rd["ssl.endpoint.identification.algorithm"] == "https"
    assert py["ssl_context"].check_hostname is True
    assert py["ssl_context"].verify_mode == ssl.CERT_REQUIRED


def test_bl_102_an_empty_algorithm_means_no_check_of_the_host_name():
    given = client(**{"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""})
    assert to_librdkafka(given)["ssl.endpoint.identification.algorithm"] == "none"
    assert to_kafka_python(given)["ssl_context"].check_hostname is False


def test_bl_101_stores_reach_both_libraries_as_the_same_pem_files(tmp_path):
    me = identity()
    given = client(**{
        "security.protocol": "SSL",
        "ssl.truststore.location": str(write_jks(tmp_path / "t.jks", me, trust=True)),
        "ssl.truststore.password": PASSWORD,
        "ssl.keystore.location": str(write_pkcs12(tmp_path / "k.p12", me)),
        "ssl.keystore.password": PASSWORD,
    })  # fmt: skip
    rd, py = to_librdkafka(given), to_kafka_python(given)
    assert rd["ssl.ca.pem"] == me.authority_pem
    assert (rd["ssl.certificate.pem"], rd["ssl.key.pem"]) == (me.chain_pem, me.key_pem())
    root = x509.load_pem_x509_certificate(me.authority_pem.encode())
    assert py["ssl_context"].get_ca_certs(binary_form=True) == [root.public_bytes(Encoding.DER)]
    AdminClient({**rd})  # librdkafka decodes them at once


def test_settings_that_mean_the_same_are_passed_on_and_others_are_not():
    given = client(**{
        "client.id": "me",
        "request.timeout.ms": "20000",
        "connections.max.idle.ms": "540000",
        "reconnect.backoff.ms": "50",
        "reconnect.backoff.max.ms": "1000",
        "metadata.max.age.ms": "300000",
        "max.poll.records": "500",
        "linger.ms": "5",
        "auto.offset.reset": "latest",
        "what.ever": "x",
    })  # fmt: skip
    assert to_librdkafka(given) == {
        "bootstrap.servers": "h1:9092,h2:9093",
        "security.protocol": "plaintext",
        "client.id": "me",
        "socket.timeout.ms": 20000,
        "connections.max.idle.ms": 540000,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 1000,
        "metadata.max.age.ms": 300000,
    }
    for library in (KafkaAdminClient, KafkaConsumer, KafkaProducer, KafkaConnectionManager):
        assert to_kafka_python(given).keys() <= library.DEFAULT_CONFIG.keys()


def test_a_number_that_librdkafka_would_refuse_is_cut_to_its_largest():
    largest = {
        "request.timeout.ms": ("socket.timeout.ms", 300_000),
        "reconnect.backoff.ms": ("reconnect.backoff.ms", 3_600_000),
        "reconnect.backoff.max.ms": ("reconnect.backoff.max.ms", 3_600_000),
        "metadata.max.age.ms": ("metadata.max.age.ms", 86_400_000),
    }
    settings = to_librdkafka(client(**dict.fromkeys(largest, "2147483647")))
    assert {name: settings[name] for name, _ in largest.values()} == dict(largest.values())
    AdminClient({**settings})  # it refuses what is larger


OIDC = 'x.OAuthBearerLoginModule required clientId="me" clientSecret="hush" scope="kafka";'


def test_bl_103_tokens_are_renewed_by_each_library_itself():
    url = {"sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token"}
    rd = to_librdkafka(sasl("OAUTHBEARER", OIDC, **url))
    assert rd["sasl.oauthbearer.method"] == "oidc"
    assert (rd["sasl.oauthbearer.client.id"], rd["sasl.oauthbearer.scope"]) == ("me", "kafka")
    assert rd["sasl.oauthbearer.client.secret"] == "hush"
    claim = {"sasl.oauthbearer.sub.claim.name": "azp"}
    assert to_librdkafka(sasl("OAUTHBEARER", OIDC, **url, **claim)) == {**rd, **claim}
    py = to_kafka_python(sasl("OAUTHBEARER", OIDC, **url))
    assert isinstance(py["sasl_oauth_token_provider"], TokenProvider)


def test_client_credentials_of_their_own_go_before_those_of_the_jaas_line():
    own = {
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        "sasl.oauthbearer.client.credentials.client.id": "you",
        "sasl.oauthbearer.client.credentials.client.secret": "hu+sh",
        "sasl.oauthbearer.scope": "other",
    }
    bare = "x.OAuthBearerLoginModule required;"
    for line in (OIDC, bare):
        rd = to_librdkafka(sasl("OAUTHBEARER", line, **own))
        assert rd["sasl.oauthbearer.client.id"] == "you"
        assert rd["sasl.oauthbearer.client.secret"] == "hu+sh"
        assert rd["sasl.oauthbearer.scope"] == "other"
        py = to_kafka_python(sasl("OAUTHBEARER", line, **own))["sasl_oauth_token_provider"]
        url = own["sasl.oauthbearer.token.endpoint.url"]
        assert py._source == ClientCredentials(url, "you", "hu+sh", "other")
    encoded = {"sasl.oauthbearer.header.urlencode": "true"}
    rd = to_librdkafka(sasl("OAUTHBEARER", bare, **own, **encoded))
    assert rd["sasl.oauthbearer.client.secret"] == "hu%2Bsh"


def test_an_unsecured_token_serves_test_clusters():
    line = 'x.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="me";'
    AdminClient({**to_librdkafka(sasl("OAUTHBEARER", line))})
    token = to_kafka_python(sasl("OAUTHBEARER", line))["sasl_oauth_token_provider"].token()
    assert token.count(".") == 2
    assert token.endswith(".")


class _TokenEndPoint(BaseHTTPRequestHandler):
    """Issues numbered tokens; fails while ``down`` is set."""

    issued = 0
    down = False
    lifetime_s = 1000

    def do_POST(self):
        kind = type(self)
        self.rfile.read(int(self.headers["Content-Length"]))
        if kind.down:
            self.send_error(503)
            return
        kind.issued += 1
        body = json.dumps({"access_token": f"t{kind.issued}", "expires_in": kind.lifetime_s})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def end_point():
    kind = type("EndPoint", (_TokenEndPoint,), {})
    with HTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield kind, f"http://127.0.0.1:{server.server_port}/token"
        server.shutdown()
        thread.join()


def test_bl_103_a_token_is_kept_while_it_lives_and_renewed_before_its_end(end_point, monkeypatch):
    kind, url = end_point
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    provider = TokenProvider(ClientCredentials(url, "me", "hush"))
    assert provider.token() == "t1"
    now[0] += 0.4 * kind.lifetime_s
    assert provider.token() == "t1"
    now[0] += 0.2 * kind.lifetime_s  # a session would last for less than half of its life
    assert provider.token() == "t2"


def test_bl_103_a_short_outage_of_the_end_point_is_survived(end_point, monkeypatch):
    kind, url = end_point
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    provider = TokenProvider(ClientCredentials(url, "me", "hush"))
    assert provider.token() == "t1"
    kind.down = True
    now[0] += 0.9 * kind.lifetime_s
    assert provider.token() == "t1"
    now[0] += 0.2 * kind.lifetime_s
    with pytest.raises(ClusterUnavailable, match=r"requesting a token from http.*: HTTP 503"):
        provider.token()


def test_a_token_that_a_broker_refused_is_fetched_again_once(end_point, monkeypatch):
    _, url = end_point
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    provider = TokenProvider(ClientCredentials(url, "me", "hush"))
    assert provider.token() == "t1"
    now[0] += 60
    provider.forget()
    assert provider.token() == "t2"
    provider.forget()  # refused again: another one would be refused too
    assert provider.token() == "t2"


def test_a_token_is_not_asked_for_at_a_strange_address():
    with pytest.raises(ConfigError, match="must begin with https"):
        TokenProvider(ClientCredentials("file:///etc/passwd", "me", "hush")).token()
