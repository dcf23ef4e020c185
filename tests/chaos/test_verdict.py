"""The judge of a chaos run: what counts as lost, repeated or different, and what is excused."""

from __future__ import annotations

from chaos.chaos_topics import Promise
from chaos.verdict import ChaosVerdict
from orchestration.flows.comparison.compared_partition import PartitionResult, Work
from replication.model import TopicPartition
from replication.records.compare import compare
from replication.records.comparison_result import Fingerprint

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
