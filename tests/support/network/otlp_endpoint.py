"""An endpoint of OTLP/HTTP: it keeps what is pushed to it, and answers as a test says."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from support.network.http_server import serving

if TYPE_CHECKING:
    from collections.abc import Iterator


def attributes(listed) -> dict[str, str]:
    return {each.key: each.value.string_value for each in listed}


class Endpoint:
    """Keeps what is pushed to it; answers ``status``."""

    def __init__(self) -> None:
        self.status, self.pushed, self.headers = 200, [], []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.headers.append((self.path, dict(self.headers)))
                request = ExportMetricsServiceRequest.FromString(gzip.decompress(body))
                endpoint.pushed.append(request)
                self.send_response(endpoint.status)
                if endpoint.status == 307:
                    self.send_header("Location", "http://127.0.0.1:1/")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/metrics"

    def metrics(self, number: int = -1) -> dict:
        (resource,) = self.pushed[number].resource_metrics
        (scope,) = resource.scope_metrics
        return {each.name: each for each in scope.metrics}


@contextmanager
def otlp_endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    with serving(made.server):
        yield made
