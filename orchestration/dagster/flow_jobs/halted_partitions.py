"""Lists the halted partitions of a flow, or sets how they continue. As ``isthmus resolve``."""

from collections.abc import Sequence
from enum import Enum

import dagster as dg
from pydantic import Field

from orchestration.dagster.flow_jobs.chosen_flow import ChosenFlow, chosen, report_change
from orchestration.dagster.resources import IsthmusResource
from orchestration.flows.intents import signature
from orchestration.flows.names import require_name
from replication.clock import now_ms
from replication.errors import ClusterUnavailable
from replication.settings.state_policies import CHOICES
from replication.state import Anchor, status_topic
from replication.supervision.operator_decisions import answers, open_questions


class Continuation(Enum):
    """How halted partitions continue."""

    LIST = "list"
    CONTINUE = "continue"
    RESEED = "reseed"
    SKIP = "skip"
    KEEP = "keep"


class WhichPartitions(dg.Config):
    """Of the chosen flow; by default all halted partitions are listed, and nothing is changed."""

    choice: Continuation = Field(
        default=Continuation.LIST,
        description=(
            "LIST: show the halted partitions and their choices, and change nothing. CONTINUE, "
            "RESEED (copy again from the source's start), SKIP, KEEP: apply this choice to the "
            "halted partitions that offer it."
        ),
    )
    topic: str = Field(default="", description="Source topic. Empty: all topics.")
    partition: int | None = Field(default=None, description="Its number. Default: all.")


@dg.op(description="List the halted partitions of a flow, or set how they continue.")
def resolve(
    context: dg.OpExecutionContext, config: WhichPartitions, isthmus: IsthmusResource
) -> None:
    """Decide on what is halted now, not on later events. Raises Failure with the reason."""
    with chosen(context, isthmus) as run:
        halted = _halted(run, config)
        if config.choice is Continuation.LIST or not halted:
            text = f"nothing was changed; {len(halted)} partitions are halted"
            report_change(context, run.flow, text, [_row(each, "") for each in halted])
            return
        choice = str(config.choice.value)
        decisions, unresolved = answers(halted, choice, signature(), now_ms())
        isthmus.clusters().store(run.flow).write(status_topic(run.flow.source), *decisions)
        rows = [_row(e, f"not possible: {choice}" if e in unresolved else choice) for e in halted]
        text = f"{len(decisions)} of {len(halted)} halted partitions: {choice}"
        report_change(context, run.flow, text, rows)


def _halted(run: ChosenFlow, config: WhichPartitions) -> Sequence[Anchor]:
    """Return what is halted of the selection. Raises ConfigError for a name that is not there."""
    look = run.look()
    if look is None or look.seen.target_silence is not None:
        why = look and look.seen.target_silence
        raise ClusterUnavailable(f"{run.flow.name}: {why or 'its clusters did not answer in time'}")
    anchors = look.seen.anchors
    if config.topic:
        known = sorted({each.topic for each in anchors})
        require_name("topic", config.topic, known, run.flow.name)
        anchors = tuple(each for each in anchors if each.topic == config.topic)
    if config.partition is not None:
        numbers = sorted({each.partition for each in anchors})
        require_name("partition", config.partition, numbers, run.flow.name)
        anchors = tuple(each for each in anchors if each.partition == config.partition)
    return open_questions(anchors)


def _row(anchor: Anchor, choice: str) -> dict[str, str]:
    return {
        "partition": f"{anchor.topic}-{anchor.partition}",
        "state": anchor.state,
        "choices": " or ".join(CHOICES[anchor.state]),
        "chosen": choice,
        "reason": anchor.reason,
    }
