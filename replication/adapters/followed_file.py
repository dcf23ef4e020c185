"""Follows a configuration file while it is edited: valid content is in force, broken is not.

The lines that were in force last are kept in the state directory, without secrets: a process that
starts while the file is broken continues with them.
"""

from __future__ import annotations

import hashlib
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.adapters.local.files import make_private, write_whole
from replication.clock import now_ms
from replication.config.changes import changes, fingerprint, is_same
from replication.config.file.findings import errors
from replication.config.file.input_file import read_input
from replication.config.file.properties import MalformedText, decode, parse_properties
from replication.config.kept_lines import dump, restore
from replication.config.load import examine, problem_list
from replication.errors import ConfigError, EnvironmentProblem

if TYPE_CHECKING:
    from pathlib import Path

    from replication.config.file.findings import ConfigFinding
    from replication.config.file.properties import PropertyEntry
    from replication.config.load import Loaded
    from replication.settings.config import Config

SETTLED_S = 1.0  # an editor may write a file in parts: content counts when it is that old
_AGAIN_S = 30.0  # how often a file is read again that did not change: it may name other files
_SHOWN = 3  # problems


@dataclass(frozen=True, slots=True)
class FileInForce:
    """The settings in force. ``problem``: why the file's present content is not in force."""

    loaded: Loaded
    fingerprint: str
    read_ms: int  # when this content came into force, in ms since 1970
    problem: str = ""  # file:line, key and what to do, of each error; empty: it is in force
    changes: tuple[str, ...] = ()  # from the settings that were in force before

    @property
    def config(self) -> Config:
        return self.loaded.config


class FollowedFile:
    """One file. ``state``: the state directory; ``keeps`` says whether lines are kept there."""

    def __init__(self, path: Path, state: Path, *, keeps: bool = True) -> None:
        self._path = path
        name = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]
        self._kept = state / "accepted" / f"{name}.json"
        self._keeps = keeps
        self._reading: FileInForce | None = None
        self._digest = b""
        self._seen: tuple[bytes, float] = (b"", 0.0)  # content that is not old enough, since when
        self._again_at = 0.0
        self._lock = threading.Lock()

    def look(self) -> FileInForce:
        """Return what is in force now; the same object while nothing changed.

        Raises ConfigError with all problems: neither this file nor kept lines are valid.
        """
        with self._lock:
            content = self._content()
            digest = hashlib.sha256(content or b"").digest()
            known = self._reading is not None and digest == self._digest
            if self._reading is None or (known and time.monotonic() >= self._again_at):
                return self._take(content, digest)
            if known or not self._is_settled(digest):
                return self._reading
            return self._take(content, digest)

    def _content(self) -> bytes | None:
        try:
            return read_input(self._path)
        except OSError:
            return None  # reading it again says why

    def _is_settled(self, digest: bytes) -> bool:
        """Return whether the file has had this content for a while."""
        with suppress(OSError):
            if time.time() - self._path.stat().st_mtime >= SETTLED_S:
                return True
        if self._seen[0] != digest:
            self._seen = digest, time.monotonic()
        return time.monotonic() - self._seen[1] >= SETTLED_S

    def _take(self, content: bytes | None, digest: bytes) -> FileInForce:
        self._digest, self._again_at = digest, time.monotonic() + _AGAIN_S
        before = self._reading or self._restored(content)
        loaded, problem = _checked(self._path, content)
        if loaded is not None:
            self._reading = self._in_force(loaded, before)
        elif self._reading is None and before is None:
            load_problem = problem if isinstance(problem, str) else problem_list(problem)
            raise ConfigError(load_problem)
        elif before is not None:
            self._reading = _with_problem(before, problem)
        return self._reading  # type: ignore[return-value] # one of the branches has set it

    def _in_force(self, loaded: Loaded, before: FileInForce | None) -> FileInForce:
        if before is not None and is_same(before.config, loaded.config):
            same = before.config.warnings == loaded.config.warnings and not before.problem
            return before if same else replace(before, loaded=loaded, problem="", changes=())
        wall_ms = now_ms()
        self._keep(loaded.entries, wall_ms)
        differences = changes(before.loaded, loaded) if before is not None else ()
        return FileInForce(loaded, fingerprint(loaded), wall_ms, "", differences)

    def _keep(self, entries: tuple[PropertyEntry, ...], now_ms: int) -> None:
        if not self._keeps:
            return
        with suppress(OSError, EnvironmentProblem):  # it only serves a start with a broken file
            make_private(self._kept.parent.parent, self._kept.parent)
            write_whole(self._kept, dump(entries, now_ms))

    def _restored(self, content: bytes | None) -> FileInForce | None:
        """Return the kept lines as settings, with the present file's secrets; None: impossible."""
        try:
            text = self._kept.read_text()
            present = parse_properties(decode(content or b""))
        except (OSError, MalformedText):
            return None
        kept = restore(text, present)
        loaded = None if kept is None else _checked(self._path, kept.entries)[0]
        if kept is None or loaded is None:
            return None
        return FileInForce(loaded, fingerprint(loaded), kept.read_ms)


def _checked(
    path: Path, content: bytes | tuple[PropertyEntry, ...] | None
) -> tuple[Loaded | None, tuple[ConfigFinding, ...] | str]:
    """Return the settings; None: with the errors, or why the file could not be read."""
    try:
        loaded, findings = examine(path, content=content)
    except ConfigError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - a policy class of the operator's raises anything
        return None, f"{path} cannot be read: {type(error).__name__}: {error}"
    if found := errors(findings):
        return None, found
    return (loaded, ()) if loaded is not None else (None, f"{path}: nothing to copy")


def _with_problem(before: FileInForce, problem: tuple[ConfigFinding, ...] | str) -> FileInForce:
    if isinstance(problem, str):
        text = problem
    else:
        more = [f"and {len(problem) - _SHOWN} more"] if problem[_SHOWN:] else []
        text = "; ".join([*map(str, problem[:_SHOWN]), *more])
    return before if text == before.problem else replace(before, problem=text, changes=())
