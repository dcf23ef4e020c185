"""Lets structlog and the libraries' loggers write a driver's log in the chosen format."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from typing import Any

import structlog

from spark_jobs.process.log_format import is_json, moment


def configure_logs() -> None:
    """Let structlog and the libraries' loggers write to standard error in the chosen format."""
    structlog.configure(
        processors=_as_json() if is_json() else _as_text(),
        logger_factory=structlog.PrintLoggerFactory(_Stderr()),  # type: ignore[arg-type] # enough
    )
    # Py4J logs the broken connections of a JVM that was killed: a line each is enough.
    handler = logging.StreamHandler()
    handler.setFormatter(
        _JsonLine() if is_json() else _OneLine("%(asctime)s [%(levelname)s] %(name)s: %(message)s")
    )
    logging.basicConfig(handlers=[handler], force=True)


def _as_text() -> list[Any]:
    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S.%f", utc=False),
        structlog.dev.ConsoleRenderer(
            colors=False,
            pad_event_to=0,
            exception_formatter=structlog.dev.plain_traceback,  # locals may hold passwords
        ),
    ]


def _as_json() -> list[Any]:
    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,  # without locals, as above
        _driver,
        structlog.processors.JSONRenderer(),
    ]


def _driver(_logger: Any, _method: str, event: Any) -> Any:
    return {"process": "driver", **event}


class _Stderr:
    """Standard error; what its disk has no space for is left out."""

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()


class _OneLine(logging.Formatter):
    """Leaves stack traces out."""

    def formatException(self, ei: object) -> str:  # noqa: N802 - logging's name
        return ""


class _JsonLine(logging.Formatter):
    """A library's record as a JSON object, without stack trace."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "timestamp": moment(record.created),
            "level": record.levelname.lower(),
            "process": "driver",
            "logger": record.name,
            "event": record.getMessage(),
        }
        return json.dumps(fields)
