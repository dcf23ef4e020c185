"""How far a connection to one address comes, and what is shown of certificates."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import contextmanager

import pytest
from support.network.broken_servers import a_closed_port, a_server, closes
from support.security.certificate_stores import identity

from replication.adapters.auth.client_config import to_kafka_python
from replication.adapters.probes.address_probe import probe_address
from replication.client.cluster_facts import ConnectionStep

SERVER = identity("localhost")


def probed(where, **more):
    properties = {key.replace("_", "."): value for key, value in more.items()}
    config = to_kafka_python({"bootstrap.servers": where, **properties})
    return probe_address(where, config, 2.0)


@contextmanager
def a_tls_server(folder):
    """Complete TLS handshakes and close; yields the port."""
    chain, key = folder / "chain.pem", folder / "key.pem"
    chain.write_text(SERVER.chain_pem)
    key.write_text(SERVER.key_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    near, _ = listening.accept()
                except OSError:
                    return
                with near:
                    try:
                        context.wrap_socket(near, server_side=True).close()
                    except OSError:
                        continue

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.fixture
def trusting(tmp_path):
    """Return settings that trust the server's authority."""
    store = tmp_path / "ca.pem"
    store.write_text(SERVER.authority_pem)
    return {
        "security_protocol": "SSL",
        "ssl_truststore_type": "PEM",
        "ssl_truststore_location": str(store),
    }


def test_a_name_without_address_fails_at_dns():
    found = probed("nowhere.invalid:9092")
    assert (found.failed, found.hosts) == (ConnectionStep.DNS, ())
    assert found.problem.startswith("nowhere.invalid has no address: ")


def test_a_closed_port_is_refused_and_its_address_is_known():
    found = probed(f"127.0.0.1:{a_closed_port()}")
    assert (found.failed, found.problem) == (ConnectionStep.PORT, "Connection refused")
    assert found.hosts == ("127.0.0.1",)


def test_a_server_that_is_no_broker_fails_at_its_port():
    with a_server(closes) as port:
        assert probed(f"127.0.0.1:{port}").failed is ConnectionStep.PORT


def test_an_authority_that_is_not_trusted_fails_at_tls_and_the_chain_is_shown(tmp_path):
    with a_tls_server(tmp_path) as port:
        found = probed(f"localhost:{port}", security_protocol="SSL")
    assert found.failed is ConnectionStep.TLS
    assert "certificate" in found.problem
    assert [each.subject for each in found.certificates] == ["CN=localhost", "CN=test authority"]
    ends = SERVER.certificate.not_valid_after_utc.timestamp() * 1000
    assert found.certificates[0].ends_ms == int(ends)


def test_a_certificate_for_another_name_fails_at_tls(tmp_path, trusting):
    with a_tls_server(tmp_path) as port:
        found = probed(f"127.0.0.1:{port}", **trusting)
    assert found.failed is ConnectionStep.TLS
    assert "mismatch" in found.problem


def test_a_good_certificate_gets_to_the_next_step(tmp_path, trusting):
    with a_tls_server(tmp_path) as port:
        found = probed(f"localhost:{port}", **trusting)
    assert found.failed is ConnectionStep.PORT  # it closes after the handshake
    assert [each.issuer for each in found.certificates] == ["CN=test authority"] * 2
