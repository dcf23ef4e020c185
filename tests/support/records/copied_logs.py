"""A partition, its copy, and what the copier stored of it: two logs whose content is known."""

from __future__ import annotations

import asyncio
import random
import struct
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from operator import itemgetter

from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder

from replication.client.fetch_values import Fetched, Leader
from replication.model import OffsetRange, TopicPartition
from replication.offsets.counted_log import CountedLog
from replication.offsets.offset_map import sync_points_of
from replication.offsets.offset_points import OffsetPoints
from replication.offsets.translate import Translation
from replication.records.aborted_filter import AbortedTransaction
from replication.records.batch import ABORT, COMMIT, walk
from replication.records.codec import decode, key_and_value
from replication.state import Anchor
from support.records.record_batches import a_marker

OURS, OLDER, THEIRS = 7, 6, 9
HERE = TopicPartition("t", 0)


def a_batch(held, producer, transactional=False, span=None):  # noqa: FBT002 - a test's
    """Return a batch of {offset: (key, value)}; ``span``: it once held all of these offsets."""
    first, last = span or (min(held), max(held))
    builder = DefaultRecordBatchBuilder(2, 0, transactional, producer, 0, 0, 1 << 20)
    for offset, (key, value) in (held or {last: (b"", b"")}).items():
        builder.append(offset - first, 1000, key, value, [])
    batch = bytearray(builder.build())
    struct.pack_into(">q", batch, 0, first)
    struct.pack_into(">i", batch, 23, last - first)
    struct.pack_into(">i", batch, 57, len(held))
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return bytes(batch)


def held_by(batch):
    return [(each.offset, *key_and_value(each)) for each in decode(batch)]


def count_of(batch):
    return next(walk(memoryview(batch))).count


class Log:
    """A partition at its leader, read a few batches at a time."""

    def __init__(self):
        self.batches: list[tuple[int, int, bytes]] = []  # first and last offset, bytes
        self.end = self.first = 0
        self.aborted: list[tuple[int, int, int]] = []  # producer, first and last offset
        self.fetched = 0  # bytes
        self.open = None  # where the first open transaction begins

    def add(self, offsets, producer=THEIRS, *, transactional=False, values=None):
        held = dict(zip(offsets, values or [(b"k", b"v")] * len(offsets), strict=True))
        self.batches.append((offsets[0], offsets[-1], a_batch(held, producer, transactional)))
        self.end = offsets[-1] + 1

    def compact(self, until):
        """Take away what is superseded below ``until``, as a cleaner does."""
        newest = {key: offset for offset, key, _ in self.held()}
        for number, (first, last, batch) in enumerate(self.batches):
            (found,) = walk(memoryview(batch))
            if last < until and not found.is_control:
                kept = {o: (k, v) for o, k, v in held_by(found) if newest[k] == o}
                cleaned = a_batch(kept, found.producer_id, found.is_transactional, (first, last))
                self.batches[number] = first, last, cleaned
        self.batches = [each for each in self.batches if count_of(each[2])]

    def held(self):
        """Return offset, key and value of all records."""
        found = [next(walk(memoryview(batch))) for _, _, batch in self.batches]
        return [each for batch in found if not batch.is_control for each in held_by(batch)]

    def begin_transaction(self, count, producer=55):
        """Append records of a transaction that is not decided: nothing behind can be read."""
        self.open = self.end if self.open is None else self.open
        self.add(range(self.end, self.end + count), producer, transactional=True)

    def truncate(self, end):
        """Lose the end, as in an unclean leader election: whole batches."""
        end = min([end, *(first for first, last, _ in self.batches if last >= end)])
        self.batches = [each for each in self.batches if each[1] < end]
        self.end, self.first = end, min(self.first, end)

    def mark(self, producer, kind=ABORT):
        self.batches.append((self.end, self.end, a_marker(self.end, producer, 0, kind)))
        self.end += 1

    cluster_id = ""

    async def refresh(self, _): ...

    def leader(self, _):
        return Leader(0, 0)

    def topic_id(self, _):
        return b"i" * 16

    def denied(self, _):
        return False

    async def offset_at(self, _, moment):
        return self.first if moment == -2 else self.end

    async def fetch(self, node, entries, options, into):
        (entry,) = entries
        if not self.first <= entry.offset <= self.end:
            return [self._answer(1, entry)]
        readable = self.stable if options.isolation else self.end
        there = [
            b
            for first, last, b in self.batches
            if last >= max(entry.offset, self.first) and first < readable
        ]
        data = b"".join(there[:3])
        self.fetched += len(data)
        view = into.view(len(data))
        view[:] = data
        first = next((b.base for b in walk(view)), 0)
        last = max((b.last for b in walk(view)), default=0)
        aborted = self.aborted if options.isolation else ()
        listed = [AbortedTransaction(p, a) for p, a, z in aborted if a <= last and z >= first]
        return [self._answer(0, entry)._replace(records=view, aborted=listed)]

    def _answer(self, error, entry):
        where, empty = (entry.topic_id, entry.partition), memoryview(b"")
        return Fetched(*where, error, self.end, self.stable, self.first, [], -1, empty)

    @property
    def stable(self):
        return self.end if self.open is None else self.open


@dataclass
class Copy:
    """A source, its copy, and what its appender wrote down of it."""

    source: Log = field(default_factory=Log)
    target: Log = field(default_factory=Log)
    deliverable: list[int] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)  # where each record stands
    refused: list[OffsetRange] = field(default_factory=list)
    points: dict[int, object] = field(default_factory=dict)
    done: int = 0  # deliverables that were dealt with
    me: int = OURS

    def __post_init__(self):
        self.at = Anchor("f", "t", 0, "t", 0, 0, at_ms=1, isolation="read_committed")
        self.offset_points = OffsetPoints.of(self.at)

    def write(self, count, hole=0):
        """Let applications produce, with a hole before, as compaction leaves it."""
        begin = self.source.end + hole
        self.source.add(range(begin, begin + count))
        self.deliverable += range(begin, begin + count)

    def write_with_holes(self, chance, count):
        offsets = sorted(chance.sample(range(2 * count), count))
        offsets = [self.source.end + each for each in offsets]
        self.source.add(offsets)
        self.deliverable += offsets

    def transact(self, count, kind):
        begin = self.source.end
        self.source.add(range(begin, begin + count), 55, transactional=True)
        if kind == COMMIT:
            self.deliverable += range(begin, begin + count)
        else:
            self.source.aborted.append((55, begin, self.source.end))
        self.source.mark(55, kind)

    def copy(self, most):
        some = self.deliverable[self.done : self.done + most]
        if not some:
            self._moved(self.source.end)
            return
        base = self.target.end
        self.target.add(range(base, base + len(some)), self.me)
        self.pairs += zip(some, range(base, base + len(some)), strict=True)
        self.done += len(some)
        self._moved(some[-1] + 1, len(some))

    def take_over(self, producer):
        self.me = producer
        self.target.mark(producer)

    def refuse(self):
        """Leave the next record out, as ``on.refused = skip`` does."""
        if self.done < len(self.deliverable):
            at = self.deliverable[self.done]
            self.refused.append(OffsetRange(at, at + 1))
            self.done += 1
            self._moved(at + 1)

    def _moved(self, source, count=0):
        target = self.pairs[-1][1] + 1 if self.pairs else 0
        records = self.at.records + count
        self.at = replace(self.at, source=source, target=target, records=records)

    def note(self):
        self.at = self.offset_points.note(self.at)
        self.points |= {each.slot: each for each in self.offset_points.pending}
        self.offset_points.pending.clear()

    def translation(self, *, ahead=True, **more):
        own = {OURS, OLDER}
        return Translation(
            lambda _: CountedLog(self.source, HERE, lambda _: True, left_out=self.refused),
            CountedLog(self.target, HERE, lambda batch: batch.producer_id in own),
            sync_points_of(self.points.values(), self.at),
            ahead=ahead,
            **more,
        )

    def answers(self, offsets, *, back=False, ahead=True):
        return asyncio.run(self.translation(ahead=ahead).translate(offsets, back=back))

    def ask(self, offsets, *, back=False):
        found = self.answers(offsets, back=back)
        assert all(each.exact for each in found.values())
        return {offset: answer.offset for offset, answer in found.items()}

    def truth(self, offset):
        """Return where the next copied record at or behind ``offset`` stands now."""
        at = bisect_left(self.pairs, (offset, 0))
        left = (t for _, t in self.pairs[at:] if t >= self.target.first)
        return next(left, self.target.end)

    def truth_back(self, offset):
        at = bisect_left(self.pairs, offset, key=itemgetter(1))
        left = [s for s, _ in self.pairs[at : at + 1]] or self.deliverable[self.done :]
        return max(left[0] if left else self.source.end, self.source.first)


def a_life(seed, steps=60, copy=None):
    """Return a copy with everything in it that can come between."""
    chance, copy = random.Random(seed), copy or Copy()
    events = [
        lambda: copy.write(chance.randint(1, 12), chance.choice((0, 0, 3))),
        lambda: copy.write(chance.randint(1, 12)),
        lambda: copy.write_with_holes(chance, chance.randint(2, 6)),
        lambda: copy.transact(chance.randint(1, 6), chance.choice((COMMIT, ABORT))),
        lambda: copy.copy(chance.randint(1, 20)),
        lambda: copy.copy(chance.randint(1, 20)),
        lambda: copy.target.add(range(copy.target.end, copy.target.end + chance.randint(1, 4))),
        lambda: copy.take_over(chance.choice((OURS, OLDER))),
    ]
    for _ in range(steps):
        chance.choice(events)()
        if chance.random() < 0.05:
            copy.refuse()
        if chance.random() < 0.4:
            copy.note()
    copy.copy(10_000)
    copy.copy(1)
    if chance.random() < 0.5:
        copy.note()
    return copy
