"""What is wrong with the channels of a file: URLs by which nobody would get an alert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.alerts.channels import channels
from replication.config.file.findings import ConfigFinding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.config.load import Loaded


def channel_findings(loaded: Loaded) -> Iterator[ConfigFinding]:
    """Yield an error for each URL by which no alert can be posted; none shows the URL.

    The core does not know Apprise, and flows copy with such a file all the same.
    """
    lines = {each.key: each.line for each in loaded.entries}
    fix = "correct it; then `isthmus alert test FILE` tries each channel"
    for each in channels(loaded.config.alerts):
        if each.flaw:
            key, _, which = each.place.partition(": ")
            what = f"{which} {each.flaw}".strip()
            line, path = lines.get(key, 0), loaded.config.path
            yield ConfigFinding(Severity.ERROR, path, line, key, what, fix)
