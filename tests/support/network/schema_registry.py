"""A schema registry on this machine, which answers as Confluent's does and fails when told to."""

from __future__ import annotations

import base64
import io
import json
import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import fastavro

if TYPE_CHECKING:
    from pathlib import Path

LOGIN = "reader:hush"


@dataclass
class Registry:
    """What the server has, and what it was asked."""

    login: str = ""  # user:password; empty: everyone
    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[str, dict[str, Any]] = field(default_factory=dict)
    fails_with: int = 0  # an HTTP status
    asked: list[str] = field(default_factory=list)
    url: str = ""
    _server: ThreadingHTTPServer | None = None

    def start(self, certificate: Path | None = None) -> Registry:
        """Serve on a free port of this machine; with TLS by a file of a key and its chain."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        host = "localhost" if certificate else "127.0.0.1"
        self.url = f"{'https' if certificate else 'http'}://{host}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def add(self, number: int, schema: object, **more: Any) -> None:
        """Register a schema under an id."""
        self.schemas[number] = {"schema": json.dumps(schema), **more}

    def encoded(self, number: int, value: object) -> bytes:
        """Return a value as Confluent's serializer writes it, by a schema without references."""
        out = io.BytesIO()
        schema = fastavro.parse_schema(json.loads(self.schemas[number]["schema"]))
        fastavro.schemaless_writer(out, schema, value)
        return b"\0" + number.to_bytes(4, "big") + out.getvalue()

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


def _handler(registry: Registry) -> type[BaseHTTPRequestHandler]:
    expected = f"Basic {base64.b64encode(registry.login.encode()).decode()}"

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            registry.asked.append(self.path)
            if registry.fails_with:
                self.answer(registry.fails_with, {"message": "told to fail"})
            elif registry.login and self.headers.get("Authorization") != expected:
                self.answer(401, {"error_code": 401})
            elif (found := self.found()) is None:
                self.answer(404, {"error_code": 40403})
            else:
                self.answer(200, found)

        def found(self) -> dict[str, Any] | None:
            kind, name = self.path.strip("/").split("/", 1)
            if kind == "schemas":
                return registry.schemas.get(int(name.removeprefix("ids/")))
            return registry.subjects.get(name)

        def answer(self, status: int, document: object) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
