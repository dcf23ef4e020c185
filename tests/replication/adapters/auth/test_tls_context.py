"""TLS with certificates and keys that are in no file."""

import ssl

import pytest
from support.certificate_stores import identity

from replication.adapters.auth.key_stores import Store
from replication.adapters.auth.tls_context import tls_context
from replication.errors import ConfigError

ME, OTHER = identity("localhost"), identity("elsewhere")
TRUST_ME = Store(ME.authority_pem)


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
    own = Store(OTHER.chain_pem, OTHER.key_pem())
    client = tls_context(TRUST_ME, own, checks_host_name=True)
    server = a_server(tmp_path, OTHER.authority_pem)
    assert peers_of(client, server) == ["localhost", "elsewhere"]


def test_an_authority_that_is_not_trusted_ends_the_handshake(tmp_path):
    client = tls_context(Store(OTHER.authority_pem), None, checks_host_name=True)
    with pytest.raises(ssl.SSLCertVerificationError):
        peers_of(client, a_server(tmp_path, ME.authority_pem))


@pytest.mark.parametrize("checks", [True, False])
def test_a_wrong_host_name_is_let_pass_only_when_the_check_is_off(tmp_path, checks):
    own = Store(ME.chain_pem, ME.key_pem())
    client = tls_context(TRUST_ME, own, checks_host_name=checks)
    server = a_server(tmp_path, ME.authority_pem)
    if checks:
        with pytest.raises(ssl.SSLCertVerificationError, match="address mismatch"):
            peers_of(client, server, "127.0.0.2")
    else:
        assert peers_of(client, server, "127.0.0.2") == ["localhost", "localhost"]


def test_a_trust_store_without_certificates_is_refused():
    with pytest.raises(ConfigError) as error:
        tls_context(Store(""), None, checks_host_name=True)
    assert str(error.value) == "the trust store contains no certificate that can be used"


@pytest.mark.parametrize("chain", [OTHER.chain_pem, ""], ids=["another", "none"])
def test_a_key_without_its_certificate_is_refused(chain):
    with pytest.raises(ConfigError, match="do not belong together"):
        tls_context(TRUST_ME, Store(chain, ME.key_pem()), checks_host_name=True)
