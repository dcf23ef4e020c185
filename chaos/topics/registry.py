"""A schema registry that has every schema, and now and then answers 503."""

from __future__ import annotations

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Of all requests. A batch needs an answer for each schema that its process has not seen yet.
_REFUSED = 0.2


class MoodyRegistry:
    """Serves ``/schemas/ids/<id>`` on a free port of this machine, until it is closed."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.refused = 0

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler) -> None:  # noqa: N805 - its base's name; self is the registry
                is_refused = chance.random() < _REFUSED
                self.refused += is_refused
                text = schema(handler.path.rpartition("/")[2].partition("?")[0])
                content = json.dumps({"schema": text}).encode()
                handler.send_response(503 if is_refused else 200)
                handler.send_header("Content-Length", str(len(content)))
                handler.end_headers()
                handler.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def schema(number: str) -> str:
    """Return the schema of an id: one field ``number``, in a record of another name each."""
    fields = [{"name": "number", "type": "long"}]
    return json.dumps({"type": "record", "name": f"Chaos{number}", "fields": fields})
