"""A cluster in memory that implements ``replication.client.network.Network``, for unit tests.

It keeps what brokers keep of producers (epochs, sequences), so that appends that must not land are
refused here as there. Tests say in ``refuse`` what else goes wrong.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from functools import partial

from replication.client.error_codes import ErrorCode
from replication.client.fetch_values import Fetched, Leader
from replication.client.network import Ack, Fenced
from replication.errors import ClusterUnavailable
from replication.model import ProducerIdAndEpoch, TopicPartition
from replication.records.batch import ABORT, COMMIT, walk
from replication.records.codec import decode, key_and_value
from support.records.record_batches import a_marker, compacted

OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
FENCED = ErrorCode.INVALID_PRODUCER_EPOCH
OUT_OF_RANGE = ErrorCode.OFFSET_OUT_OF_RANGE


def give(answer, fetching: asyncio.Future) -> None:
    """Call ``answer`` with what a Fetch ended with."""
    if not fetching.cancelled():
        problem = fetching.exception()
        answer(None if problem else fetching.result(), problem)


class Log:
    """A partition as its leader keeps it."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.start = self.end = 0
        self.open_from: int | None = None  # the first offset of an open transaction
        self.epochs: dict[int, int] = {}
        self.sequences: dict[int, int] = {}

    def append(self, batch: bytes) -> tuple[int, int]:
        """Return (error, base offset)."""
        (found,) = walk(memoryview(batch))
        producer = found.producer_id
        if found.producer_epoch < self.epochs.get(producer, -1):
            return FENCED, -1
        if found.producer_epoch > self.epochs.get(producer, -1):
            self.sequences.pop(producer, None)
        if producer >= 0 and not found.is_control:
            if found.sequence != self.sequences.get(producer, found.sequence):
                return OUT_OF_ORDER, -1
            self.sequences[producer] = found.sequence + found.count
        self.epochs[producer] = found.producer_epoch
        base, self.end = self.end, self.end + found.last - found.base + 1
        self.batches.append(base.to_bytes(8, "big") + batch[8:])
        return 0, base

    def compact(self, *removed: int) -> None:
        """Remove the records at these offsets, as the log cleaner does."""
        self.batches = [kept for each in self.batches if (kept := compacted(each, removed))]

    def delete_before(self, offset: int) -> None:
        """Move the log start, as retention does: batches before it are gone."""
        self.start = offset
        self.batches = [each for each in self.batches if _last(each) >= offset]

    @property
    def stable(self) -> int:
        """The last stable offset: what follows it may still be aborted."""
        return self.end if self.open_from is None else self.open_from

    def records(self) -> list[tuple[bytes | None, bytes | None]]:
        """Return key and value of all records."""
        listed = [b for batch in self.batches for b in walk(memoryview(batch)) if not b.is_control]
        return [key_and_value(each) for b in listed for each in decode(b)]

    def values(self) -> list[bytes | None]:
        return [value for _, value in self.records()]


class MemoryCluster:
    """One broker, number 0. ``events`` says what was asked of it, in order."""

    def __init__(self, name: str = "memory") -> None:
        self.cluster_id = name
        self.logs: dict[TopicPartition, Log] = defaultdict(Log)
        self.events: list[tuple] = []
        self.refuse = lambda _topic, _batch: 0  # error code of an append
        self.asked: list = []  # entries of every Fetch
        self.throttled_ms = 0
        self.paused_s = 0.0  # how long it throttles every connection
        self.down = False  # no Fetch is answered
        self.silent: set[str] = set()  # topics of which no Fetch is answered
        self.hidden: set[str] = set()  # topics that our user may not see
        self.aborts: set[TopicPartition] = set()  # where somebody aborts what is being committed
        self._joined: set[TopicPartition] = set()
        self._producers: dict[str, ProducerIdAndEpoch] = {}
        self._plain = 0  # producer ids that were given without a transactional id

    async def refresh(self, topics) -> None:
        self.events.append(("refresh", *sorted(topics)))

    async def topic_names(self) -> set[str]:
        return {each.topic for each in self.logs} - self.hidden

    def leader(self, partition) -> Leader | None:
        return Leader(0, 7)

    def in_sync(self, partition) -> tuple[int, ...]:
        return (0,)

    def denied(self, topic: str) -> bool:
        return topic in self.hidden

    def topic_id(self, topic: str) -> bytes | None:
        if topic in self.hidden:
            return None
        return hashlib.md5(topic.encode(), usedforsecurity=False).digest()

    async def ready(self, node: int) -> None:
        pass

    def pause_s(self, node: int, line: str = "produce") -> float:
        return self.paused_s

    def begin_fetch(self, node, entries, options, into, answer) -> None:
        fetching = asyncio.ensure_future(self.fetch(node, entries, options, into))
        fetching.add_done_callback(partial(give, answer))

    async def fetch(self, node, entries, options, into) -> list[Fetched]:
        self.asked.append(list(entries))
        if self.down:
            raise ClusterUnavailable(f"{self.cluster_id} is down")
        names = {self.topic_id(each.topic): each.topic for each in list(self.logs)}
        if silent := self.silent & {names.get(each.topic_id, "") for each in entries}:
            raise ClusterUnavailable(f"{min(silent)} has no leader")
        found = [(each, self._log(names, each)) for each in entries]
        ends = [log.stable if options.isolation else log.end for _, log in found]
        if not any(end > each.offset for (each, _), end in zip(found, ends, strict=True)):
            await asyncio.sleep(min(options.max_wait_ms, 20) / 1000)
        data = [
            b"".join(b for b in log.batches if each.offset <= _last(b) < end)[
                : options.partition_bytes
            ]
            if log.start <= each.offset <= log.end
            else b""
            for (each, log), end in zip(found, ends, strict=True)
        ]
        view, at = into.view(sum(map(len, data))), 0
        answers = []
        for (each, log), part in zip(found, data, strict=True):
            view[at : at + len(part)] = part
            error = 0 if log.start <= each.offset <= log.end else OUT_OF_RANGE
            records, at = view[at : at + len(part)], at + len(part)
            bounds = (log.end, log.stable, log.start)
            answers.append(Fetched(each.topic_id, each.partition, error, *bounds, [], -1, records))
        return answers

    def _log(self, names, entry) -> Log:
        return self.logs[TopicPartition(names.get(entry.topic_id, ""), entry.partition)]

    def produce(self, node, batches, answer, transactional_id="") -> None:
        acks = []
        for topic, partition, batch in batches:
            error, base = self.refuse(topic, batch), -1
            if not error:
                error, base = self.logs[TopicPartition(topic, partition)].append(bytes(batch))
            self.events.append(("append", topic, error))
            acks.append(Ack(topic, partition, error, base, ""))
        asyncio.get_running_loop().call_soon(self._answer, answer, acks)

    def _answer(self, answer, acks) -> None:
        self.events += [("ack", each.topic, each.error) for each in acks]
        answer(acks, None)

    async def offset_at(self, partition, timestamp: int) -> int:
        log = self.logs[partition]
        return log.end if timestamp == -1 else log.start

    async def init_producer_id(self, transactional_id: str) -> ProducerIdAndEpoch:
        self.events.append(("init", transactional_id))
        new = ProducerIdAndEpoch(100 + len(self._producers), -1)
        known = self._producers.get(transactional_id, new)
        self._producers[transactional_id] = known._replace(epoch=known.epoch + 1)
        return self._producers[transactional_id]

    async def current_producer(self, transactional_id: str) -> ProducerIdAndEpoch | None:
        self.events.append(("current", transactional_id))
        known = self._producers.get(transactional_id)
        return None if known is None or known.epoch < 0 else known

    def expire(self, transactional_id: str) -> None:
        """Forget a transactional id: the next producer id that it gets is another one."""
        self._producers[transactional_id] = ProducerIdAndEpoch(900, -1)

    def grant(self, transactional_id: str, producer: ProducerIdAndEpoch) -> None:
        """Let ``producer`` be the present one of its transactional id."""
        self._producers[transactional_id] = producer

    async def plain_producer_id(self) -> ProducerIdAndEpoch:
        self._plain += 1
        return ProducerIdAndEpoch(500 + self._plain, 0)

    async def fence(self, transactional_id, producer, partitions) -> None:
        self._check(transactional_id, producer)
        for each in partitions:
            self.logs[each].append(a_marker(0, *producer))

    def _check(self, transactional_id: str, producer: ProducerIdAndEpoch) -> None:
        if self._producers.get(transactional_id) != producer:
            raise Fenced(transactional_id)

    async def add_to_transaction(self, transactional_id, producer, partitions):
        self._check(transactional_id, producer)
        self._joined |= set(partitions)
        return {}

    async def end_transaction(self, transactional_id, producer, *, commit) -> None:
        self._check(transactional_id, producer)
        for each in sorted(self._joined):
            if each in self.aborts:
                self.logs[each].append(a_marker(0, *producer, ABORT))
            self.logs[each].append(a_marker(0, *producer, COMMIT if commit else ABORT))
        self._joined.clear()

    def drop(self, line: str) -> None:
        pass

    async def close(self) -> None:
        self.events.append(("close",))


def _last(batch: bytes) -> int:
    (found,) = walk(memoryview(batch))
    return found.last
