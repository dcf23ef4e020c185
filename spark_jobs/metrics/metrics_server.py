"""The HTTP server of the metrics endpoint: one thread per request; TLS and a login where set.

prometheus-client's own server knows no login, and makes a TLS handshake before it takes the next
connection: one silent client would keep all others waiting.
"""

from __future__ import annotations

import base64
import hmac
import socket
import ssl
import sys
import threading
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import structlog

from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from replication.settings.metrics_settings import MetricsSettings

_PATIENCE_S = 10.0  # of a connection that sends or takes nothing

log = structlog.get_logger()


def start_server(settings: MetricsSettings, port: int, app: WSGIApplication) -> int:
    """Serve ``app`` in a thread of its own; return the port. Raises OSError, EnvironmentProblem.

    The certificate is read again with each connection, so a renewed one needs no restart.
    """
    if settings.certificate is not None:
        tls_context(settings)  # a file that cannot be used is a reason not to listen
    server = _Server(settings, port)
    server.set_app(app if settings.user is None else with_login(app, settings))
    threading.Thread(target=server.serve_forever, name="metrics server", daemon=True).start()
    return int(server.server_port)


def with_login(app: WSGIApplication, settings: MetricsSettings) -> WSGIApplication:
    """Return ``app`` behind HTTP's basic authentication (RFC 7617)."""
    login = base64.b64encode(f"{settings.user}:{settings.password}".encode())

    def checked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        scheme, _, given = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("latin-1"), login)
        if scheme.lower() == "basic" and same:
            return app(environ, start_response)
        asked = 'Basic realm="isthmus", charset="UTF-8"'
        start_response("401 Unauthorized", [("WWW-Authenticate", asked), ("Content-Length", "0")])
        return [b""]

    return checked


def tls_context(settings: MetricsSettings) -> ssl.SSLContext:
    """Return what a TLS handshake needs, read from the files. Raises EnvironmentProblem."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(
            str(settings.certificate),
            settings.key,
            password=_no_password,  # without, OpenSSL asks for one at the terminal, and waits
        )
    except OSError as error:
        files = " and ".join(filter(None, (settings.certificate, settings.key)))
        raise _unusable("certificate with its key", files, error) from None
    if settings.client_ca is not None:
        try:
            context.load_verify_locations(settings.client_ca)
        except OSError as error:
            raise _unusable("certificate of an authority", settings.client_ca, error) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class _Server(ThreadingMixIn, WSGIServer):
    """Makes the TLS handshake in the thread of its connection. Raises OSError, OverflowError."""

    daemon_threads = True

    def __init__(self, settings: MetricsSettings, port: int) -> None:
        self.settings = settings
        found = socket.getaddrinfo(
            settings.host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        self.address_family = found[0][0]  # read by TCPServer as it opens its socket
        super().__init__((settings.host, port), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(_PATIENCE_S)
        if self.settings.certificate is None:
            super().finish_request(request, client_address)
            return
        try:
            context = tls_context(self.settings)
        except EnvironmentProblem as error:
            log.warning("metrics endpoint cannot serve", reason=str(error))
            return
        with context.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what failed, in a line. Connections that break off are the scraper's business."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            log.warning("scrape failed", reason=f"{type(error).__name__}: {error}")


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its own name
        """Log nothing: there is a request every few seconds."""


def _no_password() -> str:
    raise OSError("the key needs a password: remove it from the file")


def _unusable(what: str, files: str, error: OSError) -> EnvironmentProblem:
    """Return the problem in OpenSSL's words, if it has any."""
    reason = error.strerror or error
    if isinstance(error, ssl.SSLError):
        reason = error.reason or "it is not there in PEM"
    return EnvironmentProblem(f"no usable {what} in {files}: {reason}; correct metrics.ssl.*")
