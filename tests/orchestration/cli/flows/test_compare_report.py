"""How ``isthmus compare`` shows what it found."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.flows.command import run_command
from support.settings.config_files import TWO, written

from orchestration.cli.flows import compare
from orchestration.cli.flows.compare_remarks import remarks
from orchestration.cli.flows.compare_report import as_json, lines, sentence
from orchestration.flows.comparison.compared_partition import PartitionResult, Work
from orchestration.flows.comparison.comparison_verdict import (
    ComparisonReport,
    ComparisonRow,
    DeletedSourceTopic,
    NotFound,
    UncopiedRow,
)
from orchestration.flows.comparison.copy_positions import CopyPosition
from orchestration.flows.comparison.flow_comparison import UncopiedPartition
from replication.errors import ClusterUnavailable
from replication.model import TopicPartition
from replication.records.compare_compacted import Compacted
from replication.records.comparison_result import (
    Comparison,
    DifferenceKind,
    Example,
    Limits,
    NoCounterpart,
)

CLEAN = "0 lost, 0 repeated, 0 different, 0 out of order"


def row(number: int = 0, topic: str = "t", equal: int = 0, **more: object) -> ComparisonRow:
    """Return a row; ``more``: fields of work, result and row, or counts by NoCounterpart."""
    work = Work(TopicPartition(topic, number), TopicPartition(f"A.{topic}", number), 9, 9, 9)
    found = Comparison(equal, equal, equal)
    result = PartitionResult(work, found)
    made = ComparisonRow("A->B", result, ("A", "B"))
    for name, value in more.items():
        if name.upper() in NoCounterpart.__members__:
            found.no_counterpart[NoCounterpart[name.upper()]] = value
        elif hasattr(work, name):
            work = replace(work, **{name: value})
        elif name in PartitionResult._fields:
            result = result._replace(**{name: value})
        else:
            made = made._replace(**{name: value})
    return made._replace(result=result._replace(work=work))


@pytest.mark.parametrize(
    ("more", "about", "text"),
    [
        ({"on_target": False}, "missing topic", "B has no topic A.t"),
        ({"on_source": False}, "more partitions",
         "only B has them; it has more partitions, 0 records in them"),
        ({"in_flight": 1, "copied": CopyPosition(5, halted="REFUSED: too large")}, "halted",
         ("the partition is halted, so records in flight are not copied: REFUSED: too large; "
          "see isthmus resolve FILE")),
        ({"copied": CopyPosition(remark="the flow has no anchor of it")}, "position",
         "the flow has no anchor of it"),
        ({"in_flight": 1_200}, "in flight",
         "1,200 records in flight: after what the anchors say is copied"),
        ({"before_start": 1}, "before the copy's start",
         "1 record before the offset where copying started"),
        ({"deleted_on_source": 7}, "deleted on the source",
         "7 records deleted on A, before its first offset (retention)"),
        ({"deleted_on_target": 7}, "deleted on the target",
         "7 records deleted on B, before its first offset (retention)"),
        ({"compacted_on_source": 7}, "compacted on the source",
         "7 records replaced on A by a later one of their key"),
        ({"compacted_on_target": 7}, "compacted on the target",
         "7 records replaced on B by a later one of their key"),
        ({"of_others": 7, "other_writers": ("C->B",)}, "merged",
         "7 records of other producers in the target topic left out; C->B may write to it, too"),
        ({"compacted": Compacted(source=False)}, "compacted",
         "compacted on B: compared by key, the last record of each"),
        ({"timed": False}, "timestamps",
         "timestamps were not compared: the target topic has message.timestamp.type=LogAppendTime"),
        ({"origins": 7}, "headers",
         "the header isthmus.origin, which the flow adds, was not compared"),
        ({"skipped": 2}, "left out",
         "a decision left out 2 records: `isthmus losses FILE` lists them"),
    ],
)  # fmt: skip
def test_what_is_told_apart_is_said_by_name_in_text_and_json(more, about, text):
    made = row(**more)
    reported = {each.about: each for each in remarks([made])}
    assert reported[about].text == text
    assert f"t -> A.t, partition 0: {text}" in list(lines(ComparisonReport([made])))
    as_told = {each["about"]: each for each in as_json(ComparisonReport([made]))["remarks"]}
    assert as_told[about.replace(" ", "_").replace("'s", "")]["text"] == text


def test_partitions_of_which_the_same_is_true_share_a_remark_and_topics_do_not():
    rows = [row(0, deleted_on_target=3), row(1), row(2, deleted_on_target=4)]
    other = row(0, topic="u", deleted_on_target=5)
    shown = list(lines(ComparisonReport([*rows, other])))
    assert shown == [
        "t -> A.t, partitions 0, 2: 7 records deleted on B, before its first offset (retention)",
        "u -> A.u, partition 0: 5 records deleted on B, before its first offset (retention)",
    ]


def test_missing_partitions_of_a_topic_that_is_there_are_named_by_number():
    rows = [row(0, equal=5), row(1, on_target=False), row(2, on_target=False)]
    assert list(lines(ComparisonReport(rows))) == [
        "t -> A.t, partitions 1, 2: B does not have them; A has more partitions"
    ]
    assert sentence(ComparisonReport(rows)) == (
        f"different: 5 records, {CLEAN}; 2 partitions missing on the target"
    )


def test_a_target_without_any_of_the_topics_is_named():
    rows = [row(on_target=False), row(topic="u", on_target=False)]
    assert (
        sentence(ComparisonReport(rows)) == f"different: 0 records, {CLEAN}; 2 of 2 topics not on B"
    )


def test_the_last_line_is_the_whole_result():
    assert sentence(ComparisonReport([row(equal=5)])) == f"equal: 5 records, {CLEAN}"
    assert sentence(ComparisonReport([row(equal=5, in_flight=2)])) == (
        f"equal: 5 records, {CLEAN}; 2 in flight"
    )
    assert sentence(ComparisonReport([row()])) == "empty on both sides: 1 topic, 1 partition"
    assert sentence(ComparisonReport([row(in_flight=2)])) == (
        f"nothing compared: 0 records, {CLEAN}; 2 in flight"
    )
    found = NotFound("A->B", "A has no topic")
    assert sentence(ComparisonReport([], [found])) == "nothing compared: A->B: A has no topic"
    waited = [UncopiedRow("A->B", UncopiedPartition(TopicPartition("t", 0), 9, 4))]
    assert sentence(ComparisonReport([row(equal=4, in_flight=5)], uncopied=waited)) == (
        f"incomplete: 4 records, {CLEAN}; 5 in flight, 1 partition not copied in time"
    )
    assert list(lines(ComparisonReport([], uncopied=waited))) == [
        "A->B t-0: not copied up to 9 in time (copied: 4)"
    ]
    report = ComparisonReport([row(equal=5)], deleted_topics=[DeletedSourceTopic("A->B", "A", "u")])
    assert next(lines(report)) == "A->B: A no longer has u, so its copy is not compared"
    assert as_json(report)["gone"] == [{"flow": "A->B", "cluster": "A", "topic": "u"}]
    named = NotFound("B->A", "B has no topic", named=True)
    assert sentence(ComparisonReport([row(equal=5)], [named])) == (
        f"incomplete: 5 records, {CLEAN}; no topic found for B->A"
    )


def test_the_json_holds_all_that_the_text_does():
    made = row(equal=5, in_flight=2, copied=CopyPosition(7))
    made.result.comparison.note(DifferenceKind.LOST, Example(3, None), Limits())
    waited = [UncopiedRow("A->B", UncopiedPartition(TopicPartition("t", 0), 9, None))]
    reported = as_json(ComparisonReport([made], [NotFound("B->A", "B has no topic")], waited))
    assert (reported["result"], reported["equal"], reported["in_flight"]) == ("different", False, 2)
    assert reported["not_found"] == [{"flow": "B->A", "why": "B has no topic", "named": False}]
    assert reported["not_copied_in_time"] == [
        {"flow": "A->B", "partition": "t-0", "end": 9, "copied": None}
    ]
    [partition] = reported["partitions"]
    assert partition["examples"] == {"lost": [{"source": 3, "target": None}]}
    assert (partition["result"], partition["copied"], partition["on_target"]) == (
        "different",
        7,
        True,
    )


def test_a_flow_that_could_not_be_compared_hides_no_difference_and_leaves_no_equal():
    failed = {"A->C": "cluster C does not answer"}
    equal = ComparisonReport([row(equal=3)], failed=failed)
    assert (str(equal.verdict), as_json(equal)["equal"]) == ("incomplete", False)
    assert as_json(equal)["failed"] == [{"flow": "A->C", "why": "cluster C does not answer"}]
    assert str(ComparisonReport([row(0, on_target=False)], failed=failed).verdict) == "different"


def test_json_says_file_where_a_person_reads_the_path_of_a_command(tmp_path, monkeypatch):
    @contextmanager
    def nothing(*_):
        yield SimpleNamespace(pairs=(), transformed=(), deleted_topics=lambda: ())

    monkeypatch.setattr(compare, "reachable_flows", lambda config, _: (config.flows, {}))
    monkeypatch.setattr(compare, "FlowComparison", nothing)
    file = written(tmp_path, TWO)
    assert f"with: isthmus plan {file}" in run_command("compare", file).out
    (found,) = json.loads(run_command("compare", file, "-o", "json").out)["not_found"]
    assert found["why"].endswith("with: isthmus plan FILE")


@pytest.mark.parametrize(("lost", "code"), [(0, 2), (1, 1)])
def test_a_flow_that_cannot_be_compared_keeps_no_other_from_it(tmp_path, monkeypatch, lost, code):
    more = "clusters = A, B, C\nC.bootstrap.servers = c:9092\nA->C.enabled = true\n"
    file = written(tmp_path, f"{TWO}{more}")

    def add(found, flow, *_):
        if flow.target == "B":
            raise ClusterUnavailable("broker 4 of B does not answer")
        found.rows.append(row(on_target=False) if lost else row(equal=3))

    monkeypatch.setattr(compare, "reachable_flows", lambda config, _: (config.flows, {}))
    monkeypatch.setattr(compare, "_add", add)
    ended = run_command("compare", file)
    assert ended.code == code
    assert "A->B: not compared: broker 4 of B does not answer" in ended.out
    assert ended.lines[-1].startswith("different" if lost else "incomplete")


def test_where_no_flow_can_be_compared_each_is_named_with_its_reason(tmp_path, monkeypatch):
    more = "clusters = A, B, C\nC.bootstrap.servers = c:9092\nA->C.enabled = true\n"
    file = written(tmp_path, f"{TWO}{more}")

    def add(*_):
        raise ClusterUnavailable("broker 4 of B does not answer")

    def reachable(config, _):
        return [e for e in config.flows if e.target == "B"], {"A->C": "cluster C is away"}

    monkeypatch.setattr(compare, "reachable_flows", reachable)
    monkeypatch.setattr(compare, "_add", add)
    ended = run_command("compare", file)
    assert ended.code == 2
    for told in ("A->B: not compared: broker 4 of B", "A->C: not compared: cluster C is away"):
        assert told in ended.out
