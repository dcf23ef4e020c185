"""Compare two readings of a file: which settings changed, and a fingerprint of all. Pure.

Neither shows a secret: a changed password changes a line of ``changes``, and no fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replication.config.load import Loaded
    from replication.config.sections.section_reader import SettingInForce
    from replication.settings.config import Config

    Values = Mapping[str, str]
    Edit = tuple[str, str, str]  # name, value before, value after; empty: not set

_HIDDEN = "a password, or the content of a file that the file names, changed"


def is_same(before: Config, after: Config) -> bool:
    """Return whether two configurations have equal settings, secrets too; lines may have moved."""
    return before == after.model_copy(update={"warnings": before.warnings, "path": before.path})


def fingerprint(loaded: Loaded) -> str:
    """Return a digest of all settings but secrets: equal for files that mean the same."""
    settings = {flow: sorted(_values(each).items()) for flow, each in loaded.origins.items()}
    maps = {each.name: each.naming.mapped for each in loaded.config.flows}
    text = json.dumps([settings, maps], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def changes(before: Loaded, after: Loaded) -> tuple[str, ...]:
    """Return a line for each setting that differs, with the flows that it is of.

    ``A->B: topics: orders → orders, stock``. Empty: all settings are equal.
    """
    flows = [name for name in after.origins if name in before.origins]
    by_edit: dict[Edit, list[str]] = {}
    for flow in flows:
        for edit in _edits(_values(before.origins[flow]), _values(after.origins[flow])):
            by_edit.setdefault(edit, []).append(flow)
    lines = (
        *(f"flow {name} is new" for name in after.origins if name not in before.origins),
        *(f"flow {name} is gone" for name in before.origins if name not in after.origins),
        *(_line(edit, names, len(flows)) for edit, names in by_edit.items()),
    )
    return lines if lines or is_same(before.config, after.config) else (_HIDDEN,)


def _values(settings: tuple[SettingInForce, ...]) -> Values:
    return {each.name: each.value for each in settings}


def _edits(before: Values, after: Values) -> Iterator[Edit]:
    for name in dict.fromkeys((*after, *before)):
        was, now = before.get(name, ""), after.get(name, "")
        if was != now:
            yield name, was, now


def _line(edit: Edit, flows: list[str], count: int) -> str:
    name, was, now = edit
    change = f"{name}: {was or '(not set)'} → {now or '(not set)'}"
    everywhere = flows == [""] or len(flows) == count - 1 > 1
    return change if everywhere else f"{', '.join(flows)}: {change}"
