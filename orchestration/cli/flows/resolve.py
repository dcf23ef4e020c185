"""``isthmus resolve`` and ``losses``: halted partitions, and offsets that were not copied."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from orchestration.cli.flows.accepted_clusters import ACCEPT, accept_clusters
from orchestration.cli.flows.flow_options import All, Changed, File, Named, flows_for
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.given_file import print_line
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.cli.screen.text_table import Column, TextTable
from orchestration.flows.intents import signature
from orchestration.flows.kafka_clients import KafkaClusters, read_config
from orchestration.flows.names import require_name
from orchestration.flows.observation.flow_reader import look_at
from orchestration.flows.reachability import (
    left_lines,
    left_on_failure,
    reachable_flows,
    require_none_left,
)
from replication.clock import now_ms
from replication.errors import ConfigError, ReplicationError
from replication.model import ABSENT, FlowState, PartitionState
from replication.naming.name_changes import name_changes
from replication.naming.selection import TopicSelector
from replication.planning.target_snapshot import read_name_decisions
from replication.settings.state_policies import CHOICES
from replication.state import status_topic
from replication.supervision.operator_decisions import (
    NameQuestion,
    answers,
    fitting,
    name_questions,
    open_questions,
)
from replication.supervision.partition_states import describe_loss

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orchestration.flows.observation.clients import ClusterClients
    from orchestration.flows.observation.flow_look import FlowLook
    from replication.naming.name_changes import Changes
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from replication.supervision.operator_decisions import Question

# Its name does not matter until the source shows it again. What the file does not select may have
# been NOT_SELECTED by the former file: the present one decides.
_GONE = ABSENT - {PartitionState.NOT_SELECTED}


def resolve(  # noqa: PLR0913 - the options of the command
    file: File,
    choice: Annotated[
        str | None,
        typer.Argument(
            help="How they continue: continue, reseed, skip or keep; or accept, for a flow whose "
            "cluster was replaced by a new one. Default: list them."
        ),
    ] = None,
    *,
    flow: Changed = None,
    all_: All = False,
    topic: Annotated[str | None, typer.Option(help="Source topic. Default: all topics.")] = None,
    partition: Annotated[
        int | None, typer.Option(help="Partition number. Default: all partitions.")
    ] = None,
) -> None:
    """List what is halted, or set how it continues; it does so within seconds.

    To set it in a file with several flows, --flow names some of them, or --all means all.
    A choice applies to the event that was listed, not to later ones. A topic whose name changed is
    listed once for all its partitions, also before a driver runs. With --topic its name can be
    chosen again, if nothing else of the topic waits for that choice. A flow that is WRONG_CLUSTER
    continues when its address leads to the right cluster again; with accept, and --flow, the
    clusters that the addresses lead to now are the right ones. Exit code 1: a choice is not
    possible, or a target did not answer; the flows of the others are listed, or set.
    """
    if choice is not None:
        choices = {ACCEPT, *(e for each in CHOICES.values() for e in each)}
        require_name("choice", choice, sorted(choices), "resolve")
    clusters, config = KafkaClusters(), read_config(file)
    if choice == ACCEPT:
        accept_clusters(config, flow, clusters)
        return
    chosen = flows_for(config, flow, all_=all_, changes=choice is not None)
    found, left = _looks(config, chosen, clusters)
    looks = _with_right_clusters(found, choice, left)
    try:
        _require_partitions(looks, topic, partition)
    except ConfigError:
        require_none_left(left)  # it may be one of theirs
        raise
    halted: list[Question] = [
        anchor
        for _, look in looks
        for anchor in open_questions(look.seen.anchors)
        if topic in {None, anchor.topic} and partition in {None, anchor.partition}
    ]
    if partition is None:  # a topic has one name for all its partitions
        changes = _name_changes(config, looks, clusters, left)
        halted += _name_questions(changes, topic, again=False)
        if choice is not None and topic is not None and not fitting(halted, choice):
            halted = _name_questions(changes, topic, again=True) or halted
    if not halted:
        print_line(f"no partition{_of_known(looks, left)} is halted")
    elif choice is not None:
        halted = _answer([each for each, _ in looks], halted, choice, clusters, left)
    if halted:
        console().print(_halted_table(halted))
    if halted and choice is not None:
        names = ", ".join(
            f"{_where(each)} ({each.state}: {' or '.join(CHOICES[each.state])})" for each in halted
        )
        _end(f"{choice} is not possible for {names}", left)
    require_none_left(left)


def losses(
    file: File,
    *,
    flow: Named = None,
    output: Format = Output.TEXT,
) -> None:
    """List the offsets that were not copied, with time and reason. Entries are never removed.

    Exit code 1: a target did not answer; the flows of the others are listed.
    """
    looks, left = _looks(read_config(file), flow, KafkaClusters())
    found = [each for _, look in looks for each in look.seen.losses]
    if not output.is_text:
        print_data([asdict(each) for each in found], output)
        require_none_left(left)
        return
    for each in found:
        print_line(f"{each.flow} {describe_loss(each)}")
    if not found:
        print_line(f"no offset{_of_known(looks, left)} was skipped")
    require_none_left(left)


def _looks(
    config: Config, names: Sequence[str] | None, clusters: ClusterClients
) -> tuple[list[tuple[Flow, FlowLook]], dict[str, str]]:
    """Return a look at each flow whose target answers; of the others why there is none."""
    flows, left = reachable_flows(config, names, sources=False)
    found = []
    for flow in flows:
        look = look_at(flow, clusters)
        if look.seen.target_silence is None:
            found.append((flow, look))
        else:
            left[flow.name] = look.seen.target_silence
    if not found:
        require_none_left(left)
    return found, left


def _of_known(looks: Iterable[tuple[Flow, FlowLook]], left: Mapping[str, str]) -> str:
    """Return `` of A->B``: the flows that were not left; empty if all are told of.

    Raises EnvironmentProblem where all were left.
    """
    known = [flow.name for flow, _ in looks if flow.name not in left]
    if not known:
        require_none_left(left)
    return f" of {', '.join(known)}" if left else ""


def _end(reason: str, left: Mapping[str, str]) -> NoReturn:
    """End with a reason, and with what was left besides."""
    end(1, "\n".join([*([left_lines(left)] if left else []), reason]))


def _with_right_clusters(
    found: list[tuple[Flow, FlowLook]], choice: str | None, left: Mapping[str, str]
) -> list[tuple[Flow, FlowLook]]:
    """Report the flows whose source is another cluster, and leave them out: nothing was halted."""
    wrong = [each for each in found if each[1].seen.wrong_cluster]
    for flow, look in wrong:
        print_line(f"{flow.name} {FlowState.WRONG_CLUSTER}: {look.seen.wrong_cluster}", err=True)
    if wrong and (choice is not None or len(wrong) == len(found)):
        names = ", ".join(flow.name for flow, _ in wrong)
        _end(f"{names}: correct the address, or accept the cluster, before you choose", left)
    return [each for each in found if each not in wrong]


def _require_partitions(
    looks: Iterable[tuple[Flow, FlowLook]], topic: str | None, partition: int | None
) -> None:
    """Raise ConfigError for a topic or partition that none of the flows copies."""
    anchors = [anchor for _, look in looks for anchor in look.seen.anchors]
    where = ", ".join(flow.name for flow, _ in looks)
    if topic is not None:
        require_name("topic", topic, sorted({each.topic for each in anchors}), where)
    if partition is not None:
        known = sorted({each.partition for each in anchors if topic in {None, each.topic}})
        require_name("partition", partition, known, f"{where}, topic {topic}" if topic else where)


def _name_questions(
    changes: Mapping[str, Changes], topic: str | None, *, again: bool
) -> list[Question]:
    """Return the topics whose name awaits a decision; ``again``: ``topic``, decided or not."""
    return [
        question
        for flow, each in changes.items()
        for question in name_questions(flow, each, topic if again else None)
        if topic in {None, question.topic}
    ]


def _name_changes(
    config: Config,
    looks: Iterable[tuple[Flow, FlowLook]],
    clusters: ClusterClients,
    left: dict[str, str],
) -> dict[str, Changes]:
    """Return each flow's changed names; add to ``left`` why those of a flow are not known."""
    found = {}
    for flow, look in looks:
        with left_on_failure(left, flow.name):
            found[flow.name] = _name_changes_of(config, flow, look, clusters)
    return found


def _name_changes_of(
    config: Config, flow: Flow, look: FlowLook, clusters: ClusterClients
) -> Changes:
    """Return the changed names of the topics that the flow has copied and that the source shows."""
    anchors = [each for each in look.seen.anchors if each.state not in _GONE]
    selector = TopicSelector.for_flow(flow, config.clusters)
    decisions = read_name_decisions(flow, clusters.store(flow))
    counts: dict[str, int] = {}
    for each in anchors:
        counts[each.topic] = max(counts.get(each.topic, 0), each.partition + 1)
    return name_changes(flow, selector, anchors, decisions, counts)


def _answer(
    flows: Iterable[Flow],
    halted: Iterable[Question],
    choice: str,
    clusters: ClusterClients,
    left: dict[str, str],
) -> list[Question]:
    """Write the answers down; return the questions that they do not fit.

    Adds to ``left`` why those of a flow could not be written.
    """
    halted = list(halted)
    decisions, unresolved = answers(halted, choice, signature(), now_ms())
    unwritten = set()
    for flow in flows:
        if own := [each for each in decisions if each.flow == flow.name]:
            try:
                clusters.store(flow).write(status_topic(flow.source), *own)
            except ReplicationError as error:
                left[flow.name] = str(error)
                unwritten.add(flow.name)
    for each in halted:
        if each not in unresolved and each.flow not in unwritten:
            print_line(f"{each.flow} {_where(each)} {each.state}: {choice}")
    return list(unresolved)


def _where(question: Question) -> str:
    """Return the topic whose name changed, or the partition that is halted."""
    if isinstance(question, NameQuestion):
        return question.topic
    return f"{question.topic}-{question.partition}"


def _halted_table(halted: Iterable[Question]) -> TextTable:
    headers = ("flow", "partition", "state", "choices", "reason")
    table = TextTable([*map(Column, headers)])
    for each in halted:
        choices = " or ".join(CHOICES[each.state])
        table.add(each.flow, _where(each), each.state, choices, each.reason)
    return table
