"""The format of a driver's log: text, or a JSON object a line. Standard library only.

``ISTHMUS_LOG_FORMAT=json`` in the environment chooses JSON. It is no setting of the file: errors in
the file are logged too. Fields: ``timestamp`` (ISO 8601, UTC), ``level``, ``event``, ``process``,
and those of the event, such as ``flow``, ``topic``, ``partition``, ``reason``.
"""

from __future__ import annotations

import json
import os
import time

VARIABLE = "ISTHMUS_LOG_FORMAT"
_TEXT = "%d{yyyy-MM-dd HH:mm:ss.SSS} %p %c{1}: %m%n%ex{2}"
_JSON = (
    '{"timestamp":"%d{yyyy-MM-dd\'T\'HH:mm:ss.SSS}{UTC}Z","level":"%level{lowerCase=true}",'
    '"process":"jvm","logger":"%c","event":"%enc{%m}{JSON}","exception":"%enc{%ex{2}}{JSON}"}%n'
)


def is_json() -> bool:
    """Say whether the environment asks for JSON."""
    return os.environ.get(VARIABLE, "").lower() == "json"


def jvm_pattern() -> str:
    """Return the pattern of Log4j's PatternLayout."""
    return _JSON if is_json() else _TEXT


def watcher_line(message: str) -> str:
    """Return a line of the watcher."""
    if is_json():
        fields = {"event": message, "level": "info", "process": "watcher"}
        return json.dumps({"timestamp": moment(time.time()), **fields})
    return f"{time.strftime('%Y-%m-%d %H:%M:%S')} [watch] {message}"


def moment(seconds: float) -> str:
    """Return a time in s since 1970 as UTC in ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + "Z"
