"""Which transform a topic has: the first one of the flow whose pattern matches its name. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.naming.java_regex import compile_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replication.naming.java_regex import JavaPattern
    from replication.settings.transform_settings import TopicTransform


class TopicTransforms:
    """The transforms of one flow, by topic of the source."""

    def __init__(self, transforms: Sequence[TopicTransform]) -> None:
        self._rules: list[tuple[JavaPattern, TopicTransform]] = [
            (compile_rules((each.pattern,))[0], each) for each in transforms
        ]

    def of(self, topic: str) -> TopicTransform | None:
        """Return the transform of a topic; None: its records are copied unchanged."""
        return next((each for rule, each in self._rules if rule.matches(topic)), None)
