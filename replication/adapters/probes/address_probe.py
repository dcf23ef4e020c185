"""Connects to one address step by step: DNS, port, TLS, login. All functions block."""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import TYPE_CHECKING, Any

from cryptography import x509
from kafka.protocol.broker_version_data import infer_broker_version_from_api_versions

from replication.adapters.wire.connection.broker_address import address, split_address
from replication.adapters.wire.connection.open_connection import open_connection
from replication.client.cluster_facts import AddressFacts, Certificate, ConnectionStep
from replication.errors import ClusterRejected, ReplicationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PATIENCE_S = 5.0  # for each step


def probe_address(
    where: str, config: Mapping[str, Any], patience_s: float = PATIENCE_S
) -> AddressFacts:
    """Return how far a connection to ``host:port`` comes.

    ``config`` holds kafka-python's settings, as ``to_kafka_python`` returns them.
    """
    host, port = split_address(where)
    try:
        hosts = _resolve(host, port)
    except OSError as error:
        return AddressFacts(where, ConnectionStep.DNS, f"{host} has no address: {error.strerror}")
    try:
        socket.create_connection((host, port), patience_s).close()
    except OSError as error:
        return AddressFacts(where, ConnectionStep.PORT, _reason(error), hosts)
    certificates: tuple[Certificate, ...] = ()
    if str(config["security_protocol"]).endswith("SSL"):
        problem, certificates = _handshake(host, port, config, patience_s)
        if problem:
            return AddressFacts(where, ConnectionStep.TLS, problem, hosts, certificates)
    try:
        opened = open_connection(host, port, config, patience_s)
    except ReplicationError as error:
        step = ConnectionStep.LOGIN if isinstance(error, ClusterRejected) else ConnectionStep.PORT
        reason = str(error).partition(f"{address(host, port)}: ")[2] or str(error)
        return AddressFacts(where, step, reason, hosts, certificates)
    opened.sock.close()
    versions = {key: tuple(each) for key, each in opened.versions.items()}
    version = tuple(infer_broker_version_from_api_versions(versions))
    return AddressFacts(where, None, "", hosts, certificates, version)


def _resolve(host: str, port: int) -> tuple[str, ...]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def _handshake(
    host: str, port: int, config: Mapping[str, Any], patience_s: float
) -> tuple[str, tuple[Certificate, ...]]:
    """Return why the handshake failed, empty if it did not, and the chain that was presented."""
    try:
        return "", _chain(host, port, config["ssl_context"], patience_s)
    except ssl.SSLCertVerificationError as error:
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE  # to show what is wrong; nothing is sent
        shown: tuple[Certificate, ...] = ()
        with contextlib.suppress(OSError):
            shown = _chain(host, port, trusting, patience_s)
        return error.verify_message, shown
    except ssl.SSLError as error:
        return (error.reason or str(error)).replace("_", " ").lower(), ()
    except OSError as error:
        return _reason(error), ()


def _chain(
    host: str, port: int, context: ssl.SSLContext, patience_s: float
) -> tuple[Certificate, ...]:
    name = host.partition("%")[0]  # certificates name addresses without scope
    with (
        socket.create_connection((host, port), patience_s) as plain,
        context.wrap_socket(plain, server_hostname=name) as secured,
    ):
        return tuple(map(_certificate, _presented(secured)))


def _presented(secured: ssl.SSLSocket) -> Sequence[bytes]:
    """Return the chain as the broker sends it, in DER."""
    # Python has a public name for it since 3.13.
    chain = secured._sslobj.get_unverified_chain()  # type: ignore[attr-defined]
    return [ssl.PEM_cert_to_DER_cert(each.public_bytes()) for each in chain or ()]


def _certificate(der: bytes) -> Certificate:
    found = x509.load_der_x509_certificate(der)
    ends_ms = int(found.not_valid_after_utc.timestamp() * 1000)
    return Certificate(found.subject.rfc4514_string(), found.issuer.rfc4514_string(), ends_ms)
