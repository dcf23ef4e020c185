"""Decide by ``on.*`` keys or an operator's decision whether a partition stops or continues.

Pure. ``stop`` halts the partition; with any other choice it continues, and the loss is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from replication.model import PartitionState
from replication.settings.setting_key import Key

if TYPE_CHECKING:
    from replication.model import Choice

STOP, CONTINUE, RESEED, SKIP, KEEP = "stop", "continue", "reseed", "skip", "keep"


@dataclass(frozen=True, slots=True)
class Policies:
    """What happens without an operator when a partition enters a state; ``stop`` halts it."""

    lost_range: Annotated[
        str,
        Key("on.lost.range", "choice continue|stop",
            "the source's retention deleted records before they were copied: `continue` after "
            "the gap, or `stop`"),
    ] = "continue"  # fmt: skip
    source_recreated: Annotated[
        str,
        Key("on.source.recreated", "choice continue|stop",
            "the source topic was deleted and recreated: `continue` appends the whole new topic "
            "after the old records"),
    ] = "stop"  # fmt: skip
    source_deleted: Annotated[
        str,
        Key("on.source.deleted", "choice continue|stop",
            "the source topic was deleted: with `stop` the flow is DEGRADED until the topic is "
            "created again or no longer selected; `continue` only reports it. The copy is kept"),
    ] = "stop"  # fmt: skip
    source_truncated: Annotated[
        str,
        Key("on.source.truncated", "choice continue|stop",
            "the source lost records that were copied (unclean leader election): `continue` "
            "from the source's end"),
    ] = "stop"  # fmt: skip
    source_corrupt: Annotated[
        str,
        Key("on.source.corrupt", "choice skip|stop",
            "a batch on the source is damaged on every replica: `skip` passes over that batch and "
            "records its offsets"),
    ] = "stop"  # fmt: skip
    target_reset: Annotated[
        str,
        Key("on.target.reset", "choice continue|reseed|stop",
            "the target topic was truncated, or deleted and recreated: `continue` leaves the gap, "
            "`reseed` copies from the source's start"),
    ] = "stop"  # fmt: skip
    target_foreign: Annotated[
        str,
        Key("on.target.foreign", "choice continue|stop",
            "another producer writes to the target topic: `continue` reports it, `stop` halts "
            "the partition"),
    ] = "continue"  # fmt: skip
    target_exists: Annotated[
        str,
        Key("on.target.exists", "choice continue|stop",
            "the target already has a topic of this name, with records that Isthmus did not "
            "write: `stop` does not copy the topic, `continue` appends to it"),
    ] = "stop"  # fmt: skip
    name_changed: Annotated[
        str,
        Key("on.name.changed", "choice continue|keep|reseed|stop",
            "the file gives a topic another name than it was copied under: `stop` waits, "
            "`continue` continues under the new name from here, `reseed` copies all again under "
            "it, `keep` continues under the old name"),
    ] = "stop"  # fmt: skip
    refused: Annotated[
        str,
        Key("on.refused", "choice skip|stop",
            "the target rejects a record (too large, no key on a compacted topic, a timestamp "
            "out of range): `skip` leaves it out and records its offset"),
    ] = "stop"  # fmt: skip
    dead_letters: Annotated[
        bool,
        Key("dead.letters.enabled", "boolean",
            "write a skipped record to `isthmus-dead-letters.<source>.internal` on the target"),
    ] = False  # fmt: skip


# What an operator may choose in each state, besides waiting until the cause is gone.
CHOICES: dict[str, tuple[str, ...]] = {
    PartitionState.LOST_RANGE: (CONTINUE,),
    PartitionState.SOURCE_RECREATED: (CONTINUE,),
    PartitionState.SOURCE_TRUNCATED: (CONTINUE,),
    PartitionState.SOURCE_CORRUPT: (SKIP,),
    PartitionState.TARGET_RESET: (CONTINUE, RESEED),
    PartitionState.TARGET_FOREIGN: (CONTINUE,),
    PartitionState.REFUSED: (SKIP,),
    PartitionState.POSITION_LOST: (CONTINUE, RESEED),
    PartitionState.TRANSFORM_FAILED: (SKIP,),
    PartitionState.NAME_CHANGED: (CONTINUE, RESEED, KEEP),
}


def choose(
    state: PartitionState, position: int | None, policies: Policies, decision: Choice | None
) -> str:
    """Return the choice for a partition that got into ``state``.

    ``position`` is the source offset of its anchor, None when it has none. An operator's decision
    holds for the one event that it names.
    """
    if decision is not None and decision.is_about(state, position):
        return decision.choice
    return str(getattr(policies, state.lower(), STOP))


def what_to_do(state: str) -> str:
    """Return a sentence with the operator's choices; empty if there are none."""
    choices = CHOICES.get(state)
    return f"choose with `isthmus resolve FILE`: {' or '.join(choices)}" if choices else ""
