"""Pushes a driver's figures over OTLP/HTTP in a thread of its own.

A push that fails is not repeated: the next one has newer values of the same counters. No failure
here delays a flow.
"""

from __future__ import annotations

import gzip
import os
import socket
import threading
import time
from typing import TYPE_CHECKING

import structlog

from replication.clock import now_ms
from replication.settings.otlp_settings import header_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prometheus_client import Metric

    from replication.settings.otlp_settings import OtlpSettings

_PATIENCE_S = 10.0
_HEADERS = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}

log = structlog.get_logger()


class OtlpPush:
    """Pushes what ``collect`` returns, every interval. ``resource`` says whose figures they are."""

    def __init__(
        self,
        settings: OtlpSettings,
        collect: Callable[[], Iterable[Metric]],
        resource: Mapping[str, str],
    ) -> None:
        self._settings = settings
        self._endpoint = settings.endpoint or ""
        self._collect = collect
        self._resource = resource
        self._logged: str | None = None  # None: nothing was pushed yet
        self._stopping = threading.Event()

    def start(self) -> None:
        """Begin, if an endpoint is set. A driver that ends does not wait for a push."""
        if self._endpoint:
            threading.Thread(target=self._run, name="metrics push", daemon=True).start()

    def stop(self) -> None:
        """End after the push that is running, if one is."""
        self._stopping.set()

    def _run(self) -> None:
        period_s, wait_s = self._settings.interval.total_seconds(), 0.0
        while not self._stopping.wait(wait_s):
            began = time.monotonic()
            self.push()
            wait_s = max(0.0, period_s - (time.monotonic() - began))

    def push(self) -> None:
        """Push once; log when it begins to fail, and when it works again."""
        try:
            problem = self._pushed()
        except ImportError:
            problem = "opentelemetry-proto is not installed: pip install 'isthmus[otel]'"
        except Exception as error:  # noqa: BLE001 - figures are read from two clusters: never fatal
            problem = f"internal error: {type(error).__name__}: {error}"
        if problem and problem != self._logged:
            log.warning("metrics push failed", endpoint=self._endpoint, reason=problem)
        elif not problem and self._logged != "":
            log.info("metrics push works", endpoint=self._endpoint)
        self._logged = problem

    def _pushed(self) -> str:
        """Push; return why the endpoint has not taken it, or nothing."""
        import requests  # noqa: PLC0415 - only where it is configured

        from spark_jobs.metrics.otlp_request import otlp_request  # noqa: PLC0415 - as above

        settings = self._settings
        at_ms = now_ms()
        body = otlp_request(self._collect(), self._resource, at_ms).SerializeToString()
        try:
            answer = requests.post(
                self._endpoint,
                data=gzip.compress(body, 1),
                headers={**header_lines(settings.headers or ""), **_HEADERS},
                timeout=_PATIENCE_S,
                verify=settings.ca or True,
                allow_redirects=False,  # the headers are secret
            )
        except (requests.RequestException, OSError) as error:
            return _reason(error)
        if answer.status_code == requests.codes.ok:
            return ""
        return f"HTTP {answer.status_code} {answer.reason}"


def resource_of(application: str) -> dict[str, str]:
    """Return whose figures those of this process are, by OpenTelemetry's conventions."""
    host, pid = socket.gethostname(), str(os.getpid())
    return {
        "service.name": "isthmus",
        "service.instance.id": f"{application}@{host}:{pid}",
        "host.name": host,
        "process.pid": pid,
    }


def _reason(error: BaseException) -> str:
    """Return what lies at the bottom of an error: libraries wrap it several times."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
