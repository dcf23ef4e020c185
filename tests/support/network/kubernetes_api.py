"""As much of Kubernetes as Spark's executors need: its API for pods; a pod is a process here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from support.network.http_server import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_TINY = ["tini", "-g", "--"]
# What a role calls a request, by its method and whether it names one.
_VERBS = {
    ("GET", False): "list", ("GET", True): "get", ("POST", False): "create",
    ("PATCH", True): "patch", ("DELETE", False): "deletecollection", ("DELETE", True): "delete",
}  # fmt: skip


class Pod:
    """A pod that runs: ``spec`` is as Spark asked for it."""

    def __init__(self, asked: dict[str, Any], folder: Path) -> None:
        self.manifest = asked
        self.manifest["metadata"].update(
            uid=str(uuid.uuid4()), resourceVersion="1", creationTimestamp="2026-01-01T00:00:00Z"
        )
        (self.container,) = asked["spec"]["containers"]
        folder.mkdir()
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self._command(),
                cwd=folder,
                env=self._variables(folder),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def name(self) -> str:
        return self.manifest["metadata"]["name"]

    def as_json(self) -> dict[str, Any]:
        code = self.process.poll()
        phase = "Running" if code is None else "Failed" if code else "Succeeded"
        return {**self.manifest, "status": {"phase": phase, "podIP": "127.0.0.1"}}

    def end(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _command(self) -> list[str]:
        tiny, (program, *rest) = self.container["command"][:3], self.container["command"][3:]
        assert (tiny, program) == (_TINY, "python")
        return [sys.executable, *rest, *self.container["args"]]

    def _variables(self, folder: Path) -> dict[str, str]:
        fields = {"status.podIP": "127.0.0.1", "metadata.name": self.name}
        found = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
        for each in self.container["env"]:
            source = each.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            found[each["name"]] = fields[source] if source else each.get("value", "")
        return found


class Kubernetes:
    """``pods`` are those that were not deleted, by name; ``deleted`` those that were."""

    def __init__(self, folder: Path) -> None:
        self.pods: dict[str, Pod] = {}
        self.deleted: list[Pod] = []
        self.asked: set[tuple[str, str]] = set()  # verbs and resources, as a role has them
        self._folder = folder
        self._turn = threading.Lock()
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length) or b"null")
                code, found = cluster.answer(self.command, self.path, body)
                text = json.dumps(found).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_DELETE = do_PATCH = answer  # noqa: N815 - their names

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.master = f"k8s://http://127.0.0.1:{self.server.server_port}"

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        """Return a status and what it says, for a request about pods."""
        parts = urlsplit(target)
        resource, _, name = parts.path.removeprefix("/api/v1/namespaces/isthmus/").partition("/")
        selector = parse_qs(parts.query).get("labelSelector", [""])[0]
        with self._turn:
            self.asked.add((_VERBS[method, bool(name)], resource))
            chosen = [each for each in self._chosen(selector) if name in ("", each.name)]
            if method == "DELETE":
                for each in chosen if resource == "pods" else ():
                    self._delete(each)
                return 200, _status("Success", 200)
            if resource != "pods":
                return 404, _status("Failure", 404)
            if method == "POST":
                pod = Pod(body, self._folder / f"pod-{len(self.pods) + len(self.deleted)}")
                self.pods[pod.name] = pod
                return 201, pod.as_json()
            if not name:
                return 200, _list(each.as_json() for each in chosen)
            return (200, chosen[0].as_json()) if chosen else (404, _status("Failure", 404))

    def _delete(self, pod: Pod) -> None:
        self.deleted.append(self.pods.pop(pod.name))
        pod.end()

    def _chosen(self, selector: str) -> list[Pod]:
        terms = [each for each in selector.split(",") if each]
        not_wanted = {tuple(each.split("!=")) for each in terms if "!=" in each}
        expected = {tuple(each.split("=")) for each in terms if "!=" not in each}
        labels = {
            each: {*each.manifest["metadata"]["labels"].items()} for each in self.pods.values()
        }
        return [
            each for each, found in labels.items() if expected <= found and not not_wanted & found
        ]


def _status(status: str, code: int) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": status, "code": code}


def _list(items: Any) -> dict[str, Any]:
    return {
        "kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},
        "items": list(items),
    }  # fmt: skip


@contextmanager
def kubernetes(folder: Path) -> Iterator[Kubernetes]:
    cluster = Kubernetes(folder)
    try:
        with serving(cluster.server):
            yield cluster
    finally:
        for each in [*cluster.pods.values(), *cluster.deleted]:
            each.end()
