"""Where reports are stored, and for how long."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.verification.verification_report import as_json, as_page
from replication.adapters.local.files import write_whole
from replication.errors import EnvironmentProblem

if TYPE_CHECKING:
    from datetime import timedelta

    from orchestration.services.state_directory import StateDirectory
    from orchestration.verification.outcome import VerificationOutcome
    from replication.settings.file_settings import VerificationSettings

_BEGIN = "verification-"


def reports_directory(settings: VerificationSettings, state_directory: StateDirectory) -> Path:
    """Return the directory of reports: that of the file, else one in the state directory."""
    return Path(settings.reports) if settings.reports else state_directory.root / "reports"


def store_report(found: VerificationOutcome, directory: Path, kept: timedelta) -> Path:
    """Write the page and, beside it, its JSON; delete older ones. Return the page's path.

    Raises EnvironmentProblem if the directory cannot be written.
    """
    flow = re.sub(r"[^\w.-]+", "_", found.flow.replace("->", "_to_"))
    at = datetime.fromtimestamp(found.at_ms / 1000, UTC)
    name = f"{_BEGIN}{flow}-{at:%Y%m%dT%H%M%S}-{found.at_ms % 1000:03}"
    page = directory / f"{name}.html"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(directory / f"{name}.json", json.dumps(as_json(found), indent=1) + "\n")
        write_whole(page, as_page(found))
    except OSError as error:
        raise EnvironmentProblem(
            f"writing the report to {directory}: {error.strerror}; set reports.directory to "
            "another one"
        ) from error
    _delete_old(directory, time.time() - kept.total_seconds())
    return page


def _delete_old(directory: Path, before_s: float) -> None:
    for each in directory.glob(f"{_BEGIN}*"):
        with suppress(OSError):  # another run deletes it too
            if each.stat().st_mtime < before_s:
                each.unlink()
