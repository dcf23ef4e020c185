"""How a field of the settings declares the keys of the file that set it.

A field is annotated with its keys, the strongest first::

    units: Annotated[int, Key("tasks.max", "int", "units of a flow", least=1)] = 1

Its check, its default, how it is read, its line in ``isthmus check`` and its row in
docs/configuration.md follow from that one line. ``replication.config.file.values`` has the kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta  # noqa: TC003 -- the annotations are evaluated
from enum import StrEnum


class KeyLevel(StrEnum):
    """Who declares a key, which decides where in a file it may be set."""

    FLOW = "flow"  # Isthmus: at the top level and per flow
    FILE = "file"  # Isthmus: at the top level alone
    CONNECTOR = "connector"  # MirrorMaker 2's connectors: at the top level and per flow
    CREATION = "topic creation"  # Connect: at the top level, per target cluster and per flow
    WORKER = "worker"  # Connect: per target cluster
    CONSUMER = "consumer"  # Kafka: where settings of the source's consumer may be set
    TRANSFORM = "transform"  # Isthmus: behind ``transform.<topic regex>/``, or ``transform.``


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the file. A field may have several: the first one that the file sets is read."""

    name: str  # ends in * where any name may follow
    kind: str  # of its value, see ``values.parse``; a choice is one of the field's Literal
    description: str  # Markdown, for docs/configuration.md
    # The least value of a number or a size; a span of time that is shorter counts as this one.
    least: int | timedelta | None = None
    level: KeyLevel = KeyLevel.FLOW
    default: str = ""  # what the page shows where the field's default is not what counts


@dataclass(frozen=True, slots=True)
class Derived:
    """Marks a field that no key sets alone, and says what it follows from."""

    source: str
