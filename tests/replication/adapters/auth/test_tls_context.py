"""TLS with certificates and keys that are in no file."""

import socket
import ssl
import threading
import time

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from support.security.certificate_stores import identity

from replication.adapters.auth.client_config import to_kafka_python, to_librdkafka
from replication.adapters.auth.key_stores import PemStore
from replication.adapters.auth.tls_context import tls_context
from replication.adapters.wire.connection.open_connection import open_connection
from replication.config.file.tls_limits import tls_limits
from replication.errors import ClusterUnavailable, ConfigError

ME, OTHER = identity("localhost"), identity("elsewhere")
TRUST_ME = PemStore(ME.authority_pem)


def a_server(folder, clients_trusted):
    """Return the context of a server that wants a certificate of its clients."""
    file = folder / "server.pem"
    file.write_text(ME.key_pem() + ME.chain_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    context.load_verify_locations(cadata=clients_trusted)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def peers_of(client, server, name="localhost"):
    """Do a handshake in memory; return the subject of each side's peer."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(back, there, server_hostname=name),
        server.wrap_bio(there, back, server_side=True),
    ]
    waiting = list(sides)
    while waiting:
        for side in list(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                pass
    return [side.getpeercert()["subject"][0][0][1] for side in sides]


def test_both_sides_are_known_by_certificates_from_memory(tmp_path):
    own = PemStore(OTHER.chain_pem, OTHER.key_pem())
    client = tls_context(TRUST_ME, own, checks_host_name=True)
    server = a_server(tmp_path, OTHER.authority_pem)
    assert peers_of(client, server) == ["localhost", "elsewhere"]


def test_an_authority_that_is_not_trusted_ends_the_handshake(tmp_path):
    client = tls_context(PemStore(OTHER.authority_pem), None, checks_host_name=True)
    with pytest.raises(ssl.SSLCertVerificationError):
        peers_of(client, a_server(tmp_path, ME.authority_pem))


@pytest.mark.parametrize("checks", [True, False])
def test_a_wrong_host_name_is_let_pass_only_when_the_check_is_off(tmp_path, checks):
    own = PemStore(ME.chain_pem, ME.key_pem())
    client = tls_context(TRUST_ME, own, checks_host_name=checks)
    server = a_server(tmp_path, ME.authority_pem)
    if checks:
        with pytest.raises(ssl.SSLCertVerificationError, match="address mismatch"):
            peers_of(client, server, "127.0.0.2")
    else:
        assert peers_of(client, server, "127.0.0.2") == ["localhost", "localhost"]


def test_a_trust_store_without_certificates_is_refused():
    with pytest.raises(ConfigError) as error:
        tls_context(PemStore(""), None, checks_host_name=True)
    assert str(error.value) == "the trust store contains no certificate that can be used"


@pytest.mark.parametrize("chain", [OTHER.chain_pem, ""], ids=["another", "none"])
def test_a_key_without_its_certificate_is_refused(chain):
    with pytest.raises(ConfigError, match="do not belong together"):
        tls_context(TRUST_ME, PemStore(chain, ME.key_pem()), checks_host_name=True)


@pytest.mark.parametrize("only", ["TLSv1.2", "TLSv1.3"])
def test_a_client_that_may_use_one_protocol_uses_no_other(tmp_path, only):
    client = tls_context(TRUST_ME, PemStore(ME.chain_pem, ME.key_pem()), checks_host_name=True)
    client.use(tls_limits({"ssl.enabled.protocols": only}))
    server = a_server(tmp_path, ME.authority_pem)
    assert peers_of(client, server) == ["localhost", "localhost"]
    version = getattr(ssl.TLSVersion, only.replace(".", "_"))
    server.minimum_version = server.maximum_version = version
    assert peers_of(client, server) == ["localhost", "localhost"]
    other = ({ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3} - {version}).pop()
    server = a_server(tmp_path, ME.authority_pem)
    server.minimum_version = server.maximum_version = other
    with pytest.raises(ssl.SSLError):
        peers_of(client, server)


def test_a_client_offers_the_suites_of_tls_1_2_that_are_listed(tmp_path):
    client = tls_context(TRUST_ME, PemStore(ME.chain_pem, ME.key_pem()), checks_host_name=True)
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    client.use(tls_limits({"ssl.cipher.suites": suite}))
    server = a_server(tmp_path, ME.authority_pem)
    server.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    with pytest.raises(ssl.SSLError):
        peers_of(client, server)
    server.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384")
    assert peers_of(client, server) == ["localhost", "localhost"]


def names_sent(folder, connect) -> list:
    """Return the names that a client sent in its handshakes to ``localhost`` (SNI)."""
    sent, listening = [], socket.create_server(("127.0.0.1", 0))
    context = a_server(folder, ME.authority_pem)
    context.verify_mode = ssl.CERT_NONE
    context.sni_callback = lambda _sock, name, _context: sent.append(name)

    def serve() -> None:
        while True:
            try:
                near, _ = listening.accept()
                with context.wrap_socket(near, server_side=True) as tls:
                    tls.recv(1)
            except ssl.SSLError:
                continue
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        connect(
            {
                "bootstrap.servers": f"localhost:{listening.getsockname()[1]}",
                "security.protocol": "SSL",
                "ssl.truststore.certificates": ME.authority_pem,
                "ssl.truststore.type": "PEM",
            }
        )
        deadline = time.monotonic() + 10
        while not sent:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)
    return sent


def by_librdkafka(java) -> None:
    client = AdminClient({**to_librdkafka(java), "log_level": 0})
    with pytest.raises(KafkaException):
        client.list_topics(timeout=2)


def by_wire(java) -> None:
    host, port = java["bootstrap.servers"].split(":")
    with pytest.raises(ClusterUnavailable):
        open_connection(host, int(port), to_kafka_python(java), 2)


@pytest.mark.parametrize("connect", [by_librdkafka, by_wire])
def test_a_broker_is_told_by_which_name_it_is_called(tmp_path, connect):
    """SNI: behind one address there may be brokers of several clusters."""
    assert set(names_sent(tmp_path, connect)) == {"localhost"}
