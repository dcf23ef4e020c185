"""The judge of a chaos run: what counts as lost, repeated or different, and what is excused."""

from __future__ import annotations

from chaos.topics.chaos_topics import ChaosTopic, Promise
from chaos.topics.transformed_topics import masked
from chaos.verdict import ChaosVerdict, compare_results
from orchestration.flows.comparison.compared_partition import PartitionResult, Work
from replication.adapters.topics.record_reader import ConsumedRecord
from replication.model import TopicPartition
from replication.records.compare import compare
from replication.records.comparison_result import DifferenceKind, Fingerprint

AT = TopicPartition("A.t", 0)


def judged(source: str, target: str, promise: Promise = Promise.EXACTLY_ONCE) -> ChaosVerdict:
    streams = [
        [Fingerprint(n, ord(each)) for n, each in enumerate(text)] for text in (source, target)
    ]
    verdict = ChaosVerdict()
    work = Work(TopicPartition("t", 0), AT, len(source), len(target), len(source))
    verdict.add(PartitionResult(work, compare(*streams)), promise)
    return verdict


def test_an_equal_copy_is_right_and_its_records_are_counted():
    verdict = judged("abc", "abc")
    assert (verdict.right, verdict.records, verdict.notes) == (True, 3, [])


def test_each_fault_is_counted_and_its_place_told():
    assert judged("abcd", "acd").lost == 1
    assert judged("abcd", "abcbcd").repeated == 2
    assert judged("abcd", "abXd").different == 1
    assert judged("abcd", "abcdX").different == 1
    assert judged("abcd", "acd").notes[0].startswith(f"{AT}: 1 lost")


def test_repeats_are_excused_only_at_least_once_and_losses_never():
    verdict = judged("abcd", "abcbcd", Promise.AT_LEAST_ONCE)
    assert (verdict.right, verdict.excused) == (True, 2)
    assert not judged("abcd", "abd", Promise.AT_LEAST_ONCE).right


def test_a_run_in_which_nothing_was_compared_is_not_right():
    assert not ChaosVerdict().right
    assert not judged("", "").right


def test_of_a_transformed_topic_its_results_must_be_there_and_nothing_else():
    topic = ChaosTopic("t", "none", made=masked)
    values = (b"1:one", None, b"2:two")
    source = [ConsumedRecord(n, b"k", each, (), (n, 1)) for n, each in enumerate(values)]
    first, last = (masked(each) for each in (source[0], source[2]))
    assert compare_results(topic, source, [first, last]).is_clean()
    assert compare_results(topic, source, [last]).count(DifferenceKind.LOST) == 1
    assert compare_results(topic, source, [first, first, last]).count(DifferenceKind.REPEATED) == 1
    assert not compare_results(topic, source, [first, source[1], last]).is_clean()
    assert not compare_results(topic, source, [first, source[2]]).is_clean()
    assert not compare_results(topic, source, [first, last._replace(time=(9, 1))]).is_clean()
