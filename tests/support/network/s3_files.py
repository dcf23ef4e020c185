"""A folder that is read by S3's protocol: as much of it as Hadoop's s3a asks for while it reads.

One bucket, addressed in the path. Requests have to be signed by the access key, whose signature is
not checked. Whatever else is asked for is refused with 501.
"""

from __future__ import annotations

import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from pathlib import Path

BUCKET, ACCESS_KEY, SECRET_KEY = "archive", "reader", "secret"
_TIME = "2026-01-01T00:00:00.000Z"
_HTTP_TIME = "Thu, 01 Jan 2026 00:00:00 GMT"


class S3Files:
    """Serves ``folder`` from ``with`` on; ``asked`` has the method and key of each request."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[tuple[str, str]] = []
        files = self

        class Handler(_Handler):
            root, asked = folder, files.asked

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def settings(self) -> dict[str, str]:
        """Spark's settings with which s3a reads here, without ``spark.``."""
        own = {
            "endpoint": self.url,
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "access.key": ACCESS_KEY,
            "secret.key": SECRET_KEY,
        }
        return {f"hadoop.fs.s3a.{name}": value for name, value in own.items()}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root: Path
    asked: list[tuple[str, str]]

    def do_HEAD(self) -> None:
        self._object(with_body=False)

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if "list-type" in query:
            self._list(query)
        else:
            self._object(with_body=True)

    def log_message(self, *_: object) -> None:
        pass

    def _key(self) -> str:
        bucket, _, key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
        self.asked.append((self.command, key))
        signed = f"Credential={ACCESS_KEY}/" in self.headers.get("Authorization", "")
        return key if bucket == BUCKET and signed else "../"

    def _object(self, *, with_body: bool) -> None:
        key = self._key()
        file = self.root / key
        if key == "../":
            self._answer(403)
        elif not key or not file.is_file():
            self._answer(404)
        else:
            self._send(file.read_bytes(), with_body=with_body)

    def _send(self, content: bytes, *, with_body: bool) -> None:
        whole, headers = len(content), {"Last-Modified": _HTTP_TIME, "ETag": '"1"'}
        status = 200
        if found := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            begin, end = int(found[1]), min(int(found[2] or whole), whole - 1)
            content, status = content[begin : end + 1], 206
            headers["Content-Range"] = f"bytes {begin}-{end}/{whole}"
        self._answer(status, content, headers, with_body=with_body)

    def _list(self, query: dict[str, list[str]]) -> None:
        if self._key() == "../":
            self._answer(403)
            return
        prefix = query.get("prefix", [""])[0]
        every = sorted(
            each.relative_to(self.root).as_posix()
            for each in self.root.rglob("*")
            if each.is_file()
        )
        keys, folders = [], set()
        for key in (each for each in every if each.startswith(prefix)):
            head, slash, _ = key[len(prefix) :].partition(query.get("delimiter", ["\0"])[0])
            if slash:
                folders.add(f"{prefix}{head}/")
            else:
                keys.append(key)
        listed = [
            f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME}</LastModified>"
            f"<ETag>&quot;1&quot;</ETag><Size>{(self.root / key).stat().st_size}</Size></Contents>"
            for key in keys
        ]
        listed += [
            f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>"
            for each in sorted(folders)
        ]
        text = (
            f"<ListBucketResult><Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix>"
            f"<KeyCount>{len(keys) + len(folders)}</KeyCount><MaxKeys>1000</MaxKeys>"
            f"<IsTruncated>false</IsTruncated>{''.join(listed)}</ListBucketResult>"
        )
        self._answer(200, text.encode(), {"Content-Type": "application/xml"})

    def _answer(
        self,
        status: int,
        content: bytes = b"",
        headers: dict[str, str] | None = None,
        *,
        with_body: bool = True,
    ) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(content)
