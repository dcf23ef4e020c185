"""The judge of a chaos run: what counts as lost, repeated or different, and what is excused."""

from __future__ import annotations

from chaos.topics import Promise
from chaos.verdict import Seen, Verdict
from orchestration.flows.comparison import Result, Work
from replication.model import TopicPartition
from replication.records.compare import compare
from replication.records.comparison_result import Fingerprint

AT = TopicPartition("A.t", 0)


def judged(source: str, target: str, promise: Promise = Promise.EXACTLY_ONCE) -> Verdict:
    streams = [
        [Fingerprint(n, ord(each)) for n, each in enumerate(text)] for text in (source, target)
    ]
    verdict = Verdict()
    work = Work(TopicPartition("t", 0), AT, len(source), len(target), len(source))
    verdict.add(Result(work, compare(*streams)), promise)
    return verdict


def compacted(source: str, target: str) -> Verdict:
    """Judge texts like "a1 b2": a key and its value each."""
    verdict = Verdict()
    sides = [[Seen(w[:1].encode(), hash(w)) for w in text.split()] for text in (source, target)]
    verdict.add_compacted(AT, *sides)
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


def test_either_side_of_a_compacted_topic_may_have_dropped_what_was_replaced():
    assert compacted("a1 b1 a2", "b1 a2").right
    assert compacted("b1 a2", "a1 b1 a2").right


def test_the_last_value_of_each_key_must_be_the_same():
    assert compacted("a1 b1 a2", "a1 b1").different == 1
    assert compacted("a1 b1", "a1").lost == 1


def test_what_remains_of_a_compacted_topic_must_be_in_order_and_there_once():
    assert compacted("a1 b1 c1", "b1 a1 c1").different == 1
    assert compacted("a1 b1", "a1 a1 b1").repeated == 1
