"""The channels that alerts are posted to: a webhook, and whatever Apprise knows.

Apprise posts to Slack, PagerDuty, e-mail, Teams and a hundred others; each is one URL of the file.
A name of a channel shows no secret.
"""

from __future__ import annotations

import json
import logging
import threading
import urllib.error
import urllib.request
import warnings
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from orchestration.alerts.alert import RESOLVED, TEST, Alert
from replication.errors import ConfigError, EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apprise

    from replication.settings.file_settings import Alerts

TIMEOUT_S = 4.0
_TRIES = 2


class AlertChannel(NamedTuple):
    """``send`` raises EnvironmentProblem when the alert was not accepted."""

    name: str
    send: Callable[[Alert], None]


def channels(settings: Alerts) -> tuple[AlertChannel, ...]:
    """Return the channels of a file, besides the log. Raises ConfigError for an unknown URL."""
    found = []
    if (url := settings.webhook_url) is not None:
        host = urlsplit(url).hostname
        found.append(
            AlertChannel(f"webhook {host}", lambda alert: _again(lambda: post(alert, url)))
        )
    return (*found, *(_apprise(each) for each in settings.urls))


def post(alert: Alert, url: str, timeout_s: float = TIMEOUT_S) -> None:
    """POST the alert as JSON. Messages name the host alone: the path of a webhook is a secret."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        raise ConfigError(
            f"alert.webhook.url: scheme {parts.scheme!r} is not supported: use http or https"
        )
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked just above
        url,
        json.dumps(asdict(alert)).encode(),
        {"Content-Type": "application/json"},
        method="POST",
    )
    where = f"posting an alert to webhook {parts.hostname}"
    try:
        with urllib.request.urlopen(request, timeout=timeout_s):  # noqa: S310 - as above
            return
    except urllib.error.HTTPError as error:
        error.close()
        raise EnvironmentProblem(f"{where}: the server answered HTTP {error.code}") from None
    except OSError as error:
        raise EnvironmentProblem(f"{where}: {getattr(error, 'reason', error)}") from None


def _apprise(url: str) -> AlertChannel:
    import apprise  # noqa: PLC0415 - 0.3 s that only alerts through it should pay

    scheme = url.partition(":")[0]
    with warnings.catch_warnings():  # it loads all its services at the first use
        warnings.simplefilter("ignore", DeprecationWarning)
        plugin = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if plugin is None:
        raise ConfigError(
            f"alert.urls: the URL that begins with {scheme}:// is none that Apprise knows, or it "
            "is not complete"
        )
    plugin.socket_connect_timeout = plugin.socket_read_timeout = TIMEOUT_S
    name = f"{plugin.service_name} {_host(plugin)}".strip()
    return AlertChannel(name, lambda alert: _again(lambda: _notify(plugin, name, alert)))


def _host(plugin: apprise.NotifyBase) -> str:
    """Return the URL without what is secret in it, and without its parameters."""
    shown: str = plugin.url(privacy=True)  # type: ignore[no-untyped-call] # Apprise's own
    return shown.partition("?")[0].rstrip("/")


def _notify(plugin: apprise.NotifyBase, name: str, alert: Alert) -> None:
    import apprise  # noqa: PLC0415 - as above

    kinds = {RESOLVED: apprise.NotifyType.SUCCESS, TEST: apprise.NotifyType.INFO}
    kind = kinds.get(alert.kind, apprise.NotifyType.FAILURE)
    title, _, body = alert.text.partition("\n")
    with _complaints() as complaints:
        arrived = plugin.notify(body or title, title=f"Isthmus: {title}", notify_type=kind)
    if not arrived:
        why = " ".join(complaints) or "it was not accepted"
        raise EnvironmentProblem(f"posting an alert to {name}: {why}")


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """Collect what Apprise says in this thread: others post at the same time."""
    complaints, thread = [], threading.get_ident()

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == thread:
                complaints.append(record.getMessage())

    collector, logger = Collector(logging.WARNING), logging.getLogger("apprise")
    logger.addHandler(collector)
    try:
        yield complaints
    finally:
        logger.removeHandler(collector)


@retry(
    retry=retry_if_exception_type(EnvironmentProblem),
    stop=stop_after_attempt(_TRIES),
    wait=wait_exponential(multiplier=0.5, max=2),
    reraise=True,
)
def _again(send: Callable[[], None]) -> None:
    """Send, and once more soon; what fails then waits in the outbox."""
    send()
