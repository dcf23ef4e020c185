"""A real HTTP server that takes alerts, and answers as a test says."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from support.network.http_server import serving

if TYPE_CHECKING:
    from collections.abc import Iterator


class Hook:
    """``got`` are the accepted posts; ``answer`` is the status that it gives next."""

    def __init__(self) -> None:
        self.got: list[dict] = []
        self.tries = 0
        self.answer = 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.tries += 1
                if hook.answer == 200:
                    hook.got.append(json.loads(body))
                self.send_response(hook.answer)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/secret-path"
        self.apprise = f"json://me:hush@127.0.0.1:{self.server.server_port}/other"


@contextmanager
def a_hook() -> Iterator[Hook]:
    hook = Hook()
    with serving(hook.server):
        yield hook
