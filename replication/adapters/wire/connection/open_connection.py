"""Open and authenticate a connection with kafka-python, then take its socket over.

So Isthmus has no SASL or TLS code. All functions block: call them from a thread.
"""

from __future__ import annotations

import logging
import re
import socket
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka import errors as kafka_errors
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from replication.adapters.auth.oauth import TokenProvider
from replication.adapters.auth.tls_context import TlsContext
from replication.adapters.wire.connection.broker_address import address
from replication.errors import (
    ClusterUnavailable,
    ConfigError,
    LoginRejected,
    UntrustedConnection,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_TCP_TIMEOUT_MS = 15_000
_SOCKET_BUFFER = 4 << 20  # a fetch response arrives in few segments
# How OpenSSL names what a peer says about our certificate.
_ALERT = re.compile(
    r"ALERT_((?:BAD|UNKNOWN|NO|UNSUPPORTED)?_?CERTIFICATE\w*|UNKNOWN_CA|\w*_REQUIRED)"
)
_NO_PROTOCOL = ("PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL")  # in OpenSSL's names of errors
_REJECTIONS = (
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
    kafka_errors.AuthorizationError,
)

# kafka-python logs every refused connection with a stack trace; our errors report it once.
logging.getLogger("kafka").setLevel(logging.CRITICAL)


class VersionRange(NamedTuple):
    """The lowest and the highest supported version of a request."""

    lowest: int
    highest: int


NO_VERSION = VersionRange(0, -1)  # of a request that a broker does not support


@dataclass(frozen=True, slots=True)
class OpenConnection:
    """An open, authenticated connection to one broker."""

    sock: socket.socket
    versions: Mapping[int, VersionRange]  # that the broker supports, by API key
    expires_at: float | None  # monotonic; the broker ends the SASL session then (KIP-368)


def open_connection(
    host: str, port: int, config: Mapping[str, Any], timeout_s: float
) -> OpenConnection:
    """Connect to a broker and authenticate.

    ``config`` holds kafka-python's connection settings. Raises ClusterUnavailable when the broker
    does not answer within ``timeout_s``, ClusterRejected when it rejects the credentials.
    """
    where = address(host, port)
    net = NetworkSelector()
    try:
        manager = KafkaConnectionManager(net, **{**config, "bootstrap_servers": [where]})
        return net.run(_open, net, manager, timeout_s)  # type: ignore[no-any-return]
    except (*_REJECTIONS, ConfigError) as error:  # ConfigError: the end-point gave no token
        provider = config.get("sasl_oauth_token_provider")
        if isinstance(provider, TokenProvider):
            provider.forget()
        raise LoginRejected(f"authenticating at {where}: {_reason(error)}") from error
    except kafka_errors.KafkaProtocolError as error:
        reason = f"the answer is not Kafka's ({error}): check port and security.protocol"
        raise ClusterUnavailable(f"connecting to {where}: {reason}") from error
    except (kafka_errors.KafkaError, OSError) as error:
        if refusal := _refused_certificate(error):
            raise UntrustedConnection(f"connecting to {where}: {refusal}") from error
        reason = _no_protocol(error, config) or _system(error) or type(error).__name__
        raise ClusterUnavailable(f"connecting to {where}: {reason}") from error
    finally:
        net.close()


def _reason(error: Exception) -> str:
    """Return a refusal in the broker's words: kafka-python adds its own names, twice."""
    return re.sub(r"^\[Error \d+\] |\w+Error: ", "", str(error))


def _system(error: Exception) -> str:
    """Return an error in the system's words, without its number."""
    return re.sub(r"\[Errno -?\d+\] ", "", str(error))


def _refused_certificate(error: Exception) -> str:
    """Return which side's certificate TLS refuses, and why; empty: it is about something else."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if alert := _ALERT.search(str(error)):
        why = alert[1].replace("_", " ").lower()
        return f"it wants a client's certificate that it trusts (ssl.keystore.location): {why}"
    return ""


def _no_protocol(error: Exception, config: Mapping[str, Any]) -> str:
    """Return that both sides have no TLS protocol in common; empty: that is not why."""
    context = config.get("ssl_context")
    if not isinstance(context, TlsContext) or not any(e in str(error) for e in _NO_PROTOCOL):
        return ""
    ours = " and ".join(context.limits.protocols)
    return f"it does not speak {ours} (ssl.enabled.protocols, ssl.protocol, ssl.cipher.suites)"


class _ReadsToTheEnd:
    """Hands over what a peer sent right before it closed.

    kafka-python drops that: of a broker that rejects a login one would learn that it disconnected.
    """

    def _sock_recv(self) -> tuple[bytes, Exception | None]:
        received, error = super()._sock_recv()  # type: ignore[misc] # of the transport
        return received, None if received else error  # the end is read again


class _TCPTransport(_ReadsToTheEnd, KafkaTCPTransport):  # type: ignore[misc] # untyped
    pass


class _SSLTransport(_ReadsToTheEnd, KafkaSSLTransport):  # type: ignore[misc] # untyped
    pass


async def _open(
    net: NetworkSelector, manager: KafkaConnectionManager, timeout_s: float
) -> OpenConnection:
    deadline = time.monotonic() + timeout_s
    connection = KafkaConnection(net, node_id="dial", **manager.config)
    opening = net.call_soon_with_future(_authenticate, net, manager, connection, deadline)
    try:
        await manager.wait_for(opening, timeout_s * 1000)
        await connection
    except BaseException as error:
        connection.close(error)
        raise
    return _take_over(connection)


async def _authenticate(
    net: NetworkSelector,
    manager: KafkaConnectionManager,
    connection: KafkaConnection,
    deadline: float,
) -> None:
    connection.connection_made(await _transport(net, manager, deadline))
    await connection.initialize(timeout_at=deadline)


async def _transport(
    net: NetworkSelector, manager: KafkaConnectionManager, deadline: float
) -> KafkaTCPTransport:
    """Connect, with a handshake if it is TLS.

    kafka-python's own connecting leaves the sockets of refused connections to the garbage
    collector, and of those whose handshake failed.
    """
    (node,) = manager.cluster.bootstrap_brokers()
    sock = socket.create_connection((node.host, node.port), max(0.1, deadline - time.monotonic()))
    transport = None
    try:
        sock.settimeout(0.0)
        for option in manager.config["socket_options"]:
            sock.setsockopt(*option)
        if manager.ssl_enabled:
            tls = {k: v for k, v in manager.config.items() if k.startswith("ssl_")}
            name = node.host.partition("%")[0]  # certificates name addresses without scope
            transport = _SSLTransport(net, sock, host=name, **tls)
        else:
            transport = _TCPTransport(net, sock, host=node.host)
        await transport.handshake()
        if manager.ssl_enabled:
            _refuse_suite(transport, manager.config["ssl_context"], address(node.host, node.port))
    except BaseException as error:
        sock.close()  # where TLS has wrapped it already this does nothing
        if transport is not None:
            transport.abort(error)
        raise
    return transport


def _refuse_suite(transport: KafkaTCPTransport, context: ssl.SSLContext, where: str) -> None:
    """Raise UntrustedConnection where TLS 1.3 came to a suite that the file does not list."""
    if isinstance(context, TlsContext) and (
        refusal := context.limits.refusal(transport._sock.cipher()[0])
    ):
        raise UntrustedConnection(f"connecting to {where}: {refusal}")


def _set_keepalive(sock: socket.socket) -> None:
    """Let the kernel close the connection when the peer has been silent for 15 s."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _TCP_TIMEOUT_MS)


def _take_over(connection: KafkaConnection) -> OpenConnection:
    transport = connection.transport
    connection._reauth.cancel()  # the owner opens a new connection before it expires
    if transport is None or transport._sock is None:  # it was lost since the login
        raise kafka_errors.KafkaConnectionError("the broker closed the connection after the login")
    transport.pause_reading()
    sock, transport._sock = transport._sock, None
    transport._closed = True
    sock.settimeout(0.0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BUFFER)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _set_keepalive(sock)
    versions = connection.broker_version_data.api_versions
    lifetime_ms = connection._reauth.session_lifetime_ms
    return OpenConnection(
        sock,
        {key: VersionRange(*each) for key, each in versions.items()},
        time.monotonic() + lifetime_ms / 1000 if lifetime_ms else None,
    )
