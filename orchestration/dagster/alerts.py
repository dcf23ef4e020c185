"""Sends alerts to the log and to a webhook; a failed post raises EnvironmentProblem."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from replication.errors import ConfigError, EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert. ``text`` alone is enough to act on, as chat tools show nothing else."""

    kind: str  # check_failed, check_passed, run_failed
    subject: str  # a flow or an application
    text: str
    at_ms: int
    source: str = "isthmus"


def send(alert: Alert, log: Callable[[str], None], webhook_url: str | None) -> None:
    """Log the alert and post it. Raises EnvironmentProblem when the post is not accepted."""
    log(f"alert: {alert.kind}: {alert.text}")
    if webhook_url is not None:
        post(alert, webhook_url)


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


def is_worth_an_alert(failures_in_a_row: int) -> bool:
    """Return True for failure 1, 2, 4, 8, …: a crash loop must not post thousands of times."""
    return failures_in_a_row > 0 and failures_in_a_row & (failures_in_a_row - 1) == 0
