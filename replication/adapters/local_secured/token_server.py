"""A token end-point for OAuth's client credentials, for clusters on this machine.

``python -m replication.adapters.local_secured.token_server FOLDER PORT LIFE_S`` serves until it is
ended. The folder holds the key that signs tokens and the secrets of users, which are read for each
request.
"""

from __future__ import annotations

import base64
import hmac
import json
import sys
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from replication.adapters.local.broker_config import HOST
from replication.adapters.local_secured.secret_file import read_secrets
from replication.adapters.local_secured.tokens import token_key_of

if TYPE_CHECKING:
    from replication.adapters.local_secured.tokens import TokenKey

TOKEN_KEY = "token-key.pem"  # noqa: S105 -- a file's name
_LARGEST = 64 << 10  # bytes of a request


class TokenServer(ThreadingHTTPServer):
    """Answers ``POST /token`` on this machine alone."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int, life_s: float) -> None:
        super().__init__((HOST, port), _Request)
        self.folder, self.life_s = folder, life_s
        self.key: TokenKey = token_key_of((folder / TOKEN_KEY).read_text())

    def knows(self, user: str, secret: str) -> bool:
        """Return whether it is that user's secret."""
        expected = read_secrets(self.folder).get(user)
        return expected is not None and hmac.compare_digest(expected.encode(), secret.encode())


class _Request(BaseHTTPRequestHandler):
    server: TokenServer
    timeout = 10

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(self._size()).decode(errors="replace"))
        user, secret = self._credentials()
        if form.get("grant_type") != ["client_credentials"]:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": "unsupported_grant_type"})
        elif not self.server.knows(user, secret):
            self._answer(HTTPStatus.UNAUTHORIZED, {"error": "invalid_client"})
        else:
            token = self.server.key.token(user, time.time(), self.server.life_s)
            answer = {"access_token": token, "token_type": "Bearer"}
            self._answer(HTTPStatus.OK, {**answer, "expires_in": self.server.life_s})

    def _size(self) -> int:
        try:
            return min(max(int(self.headers.get("Content-Length", "0")), 0), _LARGEST)
        except ValueError:
            return 0

    def _credentials(self) -> tuple[str, str]:
        words = self.headers.get("Authorization", "").partition("Basic ")
        try:
            user, _, secret = base64.b64decode(words[2], validate=True).decode().partition(":")
        except ValueError:
            return "", ""
        return user, secret

    def _answer(self, status: HTTPStatus, answer: dict[str, object]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


def main() -> None:
    """Serve as the arguments say."""
    folder, port, life_s = sys.argv[1:]
    with TokenServer(Path(folder), int(port), float(life_s)) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
