"""What an operator reads at a start: the file's warnings, and the patterns that are in effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.settings.flow_settings import Flow


def effective_patterns(flow: Flow) -> Mapping[str, str]:
    """Return the patterns of a flow as they were read, backslashes and quotes taken off."""
    selected = flow.selection
    return {
        "topics": _listed(selected.topics),
        "topics.exclude": _listed(selected.topics_exclude),
        "groups": _listed(selected.groups),
        "groups.exclude": _listed(selected.groups_exclude),
    }


def pattern_line(flow: Flow) -> str:
    """Return the patterns of a flow as one line."""
    patterns = (f"{key} = {text}" for key, text in effective_patterns(flow).items())
    return f"{flow.name}: {'; '.join(patterns)}"


def _listed(patterns: tuple[str, ...]) -> str:
    return ", ".join(patterns) or "(none)"
