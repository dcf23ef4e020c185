"""The channels that alerts are posted to: a webhook, and whatever Apprise knows.

Apprise posts to Slack, PagerDuty, e-mail, Teams and a hundred others; each is one URL of the file.
A name of a channel shows no secret.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import urllib.error
import urllib.request
import warnings
from contextlib import contextmanager
from dataclasses import asdict
from http.client import HTTPException
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from orchestration.alerts.alert import RESOLVED, TEST, Alert
from replication.errors import ConfigError, EnvironmentProblem, ReplicationError

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
    place: str = ""  # of its URL in the file: what waits for it stays its own once that is mended
    flaw: str = ""  # why nothing can be posted by its URL

    def problem(self, alert: Alert) -> str | None:
        """Post the alert. Return why it was not accepted, or None; raises nothing."""
        try:
            self.send(alert)
        except ReplicationError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - no channel may keep others from an alert
            # A message of another library may hold the URL, and with it a secret.
            return f"posting an alert to {self.name}: it ended with {type(error).__name__}"
        return None


def channels(settings: Alerts) -> tuple[AlertChannel, ...]:
    """Return the channels of a file, besides the log, each with a name of its own.

    One whose URL is of no use is there too, with its ``flaw``: alerts wait for it.
    """
    found = [] if settings.webhook_url is None else [_webhook(settings.webhook_url)]
    for number, url in enumerate(settings.urls, 1):
        channel = _apprise(url, f"alert.urls: URL {number} of {len(settings.urls)}")
        if any(each.name == channel.name for each in found):  # they differ in what is secret
            channel = channel._replace(name=f"{channel.name} ({channel.place})")
        found.append(channel)
    return tuple(found)


def post(alert: Alert, url: str, timeout_s: float = TIMEOUT_S) -> None:
    """POST the alert as JSON. Messages name the host alone: the path of a webhook is a secret."""
    parts = urlsplit(url)
    request = urllib.request.Request(  # noqa: S310 - `channels` has checked the scheme
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
    except HTTPException as error:
        what = f"what answered speaks no HTTP ({type(error).__name__})"
        raise EnvironmentProblem(f"{where}: {what}") from None


def _webhook(url: str) -> AlertChannel:
    if flaw := _webhook_flaw(url):
        return _unusable("alert.webhook.url", flaw)
    name = f"webhook {urlsplit(url).hostname}"
    return AlertChannel(name, lambda alert: _again(lambda: post(alert, url)), "alert.webhook.url")


def _webhook_flaw(url: str) -> str | None:
    """Return why nothing can be posted to ``url``, without showing it; None: it can."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # the port is read when it is asked for
    except ValueError:
        return "is not a URL"
    if parts.scheme not in {"http", "https"}:
        return f"has the scheme {parts.scheme!r}, which is not supported: use http or https"
    if not host or re.search(r"[\s\x00-\x1f\x7f]", url):
        return "is not complete: write https://host/path, and a blank as %20"
    return None


def _unusable(place: str, flaw: str) -> AlertChannel:
    def send(_: Alert) -> None:
        raise ConfigError(f"{place} {flaw}")

    return AlertChannel(place, send, place, flaw)


def _apprise(url: str, place: str) -> AlertChannel:
    import apprise  # noqa: PLC0415 - 0.3 s that only alerts through it should pay

    scheme = url.partition(":")[0]
    with _unlogged(), warnings.catch_warnings():  # it loads all its services at the first use
        warnings.simplefilter("ignore", DeprecationWarning)
        plugin = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if plugin is None:
        flaw = f"begins with {scheme}:// and is none that Apprise knows, or it is not complete"
        return _unusable(place, flaw)
    plugin.socket_connect_timeout = plugin.socket_read_timeout = TIMEOUT_S
    name = f"{plugin.service_name} {_host(plugin)}".strip()
    return AlertChannel(name, lambda alert: _again(lambda: _notify(plugin, name, alert)), place)


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
def _unlogged() -> Iterator[None]:
    """Keep from the log what Apprise says in this thread: an URL that it does not know, in full."""
    thread, logger = threading.get_ident(), logging.getLogger("apprise")

    def is_other(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


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
