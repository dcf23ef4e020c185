"""The configs of a target topic into which topics of several sources merge. Pure.

Where the sources' settings differ, ``sync.topic.configs.strategy`` decides, and each difference is
named: nobody should find out from a broker's disk which retention has won.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Values = Mapping[str, str | None]  # by source; None: not set there


@dataclass(frozen=True, slots=True)
class ConfigConflict:
    """A setting that the sources do not agree on; ``chosen`` None: the target's default holds."""

    key: str
    values: Values
    chosen: str | None

    def __str__(self) -> str:
        named = ", ".join(
            f"{source}: {'not set' if value is None else value}"
            for source, value in self.values.items()
        )
        outcome = "the target's default holds" if self.chosen is None else f"{self.chosen} holds"
        return f"{self.key} differs ({named}): {outcome}"


@dataclass(frozen=True, slots=True)
class Merged:
    """The settings of a merged topic, and what the sources did not agree on."""

    configs: Mapping[str, str]
    conflicts: tuple[ConfigConflict, ...] = ()


def merge_configs(sources: Mapping[str, Mapping[str, str]], strategy: str) -> Merged:
    """Return the settings of the target topic.

    ``sources`` has what is set on the topic of each source that has it, in the order of
    ``clusters``. A single source's settings are all agreed on, except under NONE.
    """
    if strategy == "NONE":
        return Merged({})
    choose = _STRATEGIES[strategy]
    chosen = {key: (values, choose(values)) for key, values in _by_key(sources)}
    return Merged(
        {key: value for key, (_, value) in chosen.items() if value is not None},
        tuple(
            ConfigConflict(key, values, value)
            for key, (values, value) in chosen.items()
            if len(set(values.values())) > 1
        ),
    )


def _by_key(sources: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, Values]]:
    for key in sorted({key for each in sources.values() for key in each}):
        yield key, {source: configs.get(key) for source, configs in sources.items()}


def _agreed(values: Values) -> str | None:
    first, *others = values.values()
    return first if all(each == first for each in others) else None


def _majority(values: Values) -> str | None:
    """Return what more than half have; not to set it is a vote too, and a tie sets nothing."""
    value, votes = Counter(values.values()).most_common(1)[0]
    return value if 2 * votes > len(values) else None


def _first(values: Values) -> str | None:
    """Return what the first source has, so that the topic is as a whole like the one there."""
    return next(iter(values.values()))


_STRATEGIES: Mapping[str, Callable[[Values], str | None]] = {
    "INTERSECTION": _agreed,
    "MAJORITY": _majority,
    "FIRST": _first,
}
