"""Adds the records that single message transforms returned to the outcome of their range.

A chain is applied once to records that are the same to it: a Filter with HasHeaderKey once to all
records with the same headers. What it does not read is not decoded, and what it does not change
stays as it is encoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from replication.records.codec import encoded_headers
from replication.transforms.smt.catalogue import PRESENCE
from replication.transforms.transformed_record import SAME_PARTITION, PoisonRecord, TargetRecord
from spark_jobs.transform.columns.encoded_batches import joined, sized
from spark_jobs.transform.columns.encoded_records import PARTS
from spark_jobs.transform.columns.record_kinds import Kinds, kinds_of
from spark_jobs.transform.task.range_outcome import problem_of
from spark_jobs.transform.task.target_rows import TargetRows, put

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from replication.transforms.smt.chain import Chain
    from replication.transforms.transformed_record import SourceRecord
    from spark_jobs.transform.columns.decoded_records import DecodedRecords
    from spark_jobs.transform.columns.encoded_records import EncodedRecords
    from spark_jobs.transform.task.range_outcome import RangeOutcome

    Numbers = npt.NDArray[np.int64]


def take_by_chain(chain: Chain, outcome: RangeOutcome, records: DecodedRecords) -> None:
    """Take the results of records of a range, none of which is known to be a poison record."""
    if outcome.halted is not None or not len(records):
        return
    kinds, topic = _kinds(records, chain.reads), outcome.work.target.topic
    made = [chain.apply(topic, each) for each in _singles(records.at(kinds.firsts), chain.reads)]
    encoded, known = records.encoded, outcome.slot.partitions
    reasons = [_problem(each, known) for each in made]
    bad = np.flatnonzero(np.array([bool(each) for each in reasons])[kinds.of])
    good = outcome.note(encoded, {int(at): reasons[kinds.of[at]] for at in bad})
    written = [each if isinstance(each, TargetRecord) else None for each in made]
    kept = np.array([each is not None for each in written])[kinds.of]
    places = np.flatnonzero(good & kept)
    of = kinds.of[places]
    put(
        outcome,
        TargetRows(
            _topics(written, of),
            np.full(len(places), SAME_PARTITION),
            encoded.times[places],
            _rests(chain, encoded, places, written, of),
            None,
            encoded.offsets[places],
        ),
    )


def _kinds(records: DecodedRecords, reads: frozenset[str]) -> Kinds:
    """Return the kinds of records; keys and values hardly ever repeat, so they are not compared."""
    every = np.arange(len(records))
    if reads & {"key", "value"}:
        return Kinds(every, every)
    return kinds_of(len(records), (_compared(records, each) for each in sorted(reads)))


def _compared(records: DecodedRecords, part: str) -> pa.Array:
    """Return a column that is the same for records with the same ``part``."""
    if part == PRESENCE:
        return pa.array(records.values.lengths >= 0)
    if part == "timestamp":
        return pa.array(records.times)
    return records.encoded.part(part, np.arange(len(records)))


def _singles(records: DecodedRecords, reads: frozenset[str]) -> list[SourceRecord]:
    """Return records with what is read of them; a value of which only that counts is empty."""
    found = records.singles([each for each in PARTS if each in reads])
    if PRESENCE not in reads or "value" in reads:
        return found
    present = records.values.lengths >= 0
    return [
        e._replace(value=b"" if there else None) for e, there in zip(found, present, strict=True)
    ]


def _problem(made: TargetRecord | PoisonRecord | None, known: Mapping[str, int]) -> str:
    if isinstance(made, PoisonRecord):
        return made.reason
    return "" if made is None else problem_of(made.topic, made.partition, known)


def _topics(written: Sequence[TargetRecord | None], of: Numbers) -> dict[str, Numbers]:
    kinds: dict[str, list[int]] = {}
    for kind, each in enumerate(written):
        if each is not None:
            kinds.setdefault(each.topic, []).append(kind)
    return {topic: np.flatnonzero(np.isin(of, each)) for topic, each in kinds.items()}


def _rests(
    chain: Chain,
    records: EncodedRecords,
    places: Numbers,
    written: Sequence[TargetRecord | None],
    of: Numbers,
) -> pa.BinaryArray:
    if not chain.writes:
        return records.rests(places)
    kinds = pa.array(of)
    return joined(
        *(
            _written(written, each).take(kinds)
            if each in chain.writes
            else records.part(each, places)
            for each in PARTS
        )
    )


def _written(written: Sequence[TargetRecord | None], part: str) -> pa.BinaryArray:
    """Return what each kind has as a key, a value or headers, as it is encoded."""
    if part == "headers":
        headers = [None if each is None else encoded_headers(each.headers) for each in written]
        return pa.array(headers, pa.binary())
    return sized(pa.array([getattr(each, part, None) for each in written], pa.binary()))
