"""The source's registry of producer ids, and the producers that pass copies on.

Nothing is taken from a Fetch answer before each of its producer ids is known (P1), and before
there is a producer for each birthplace of records that are to be passed on.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from replication.batches import producer_ids
from replication.copier.logs import StateLog
from replication.copier.outcomes import Remedy, Trouble
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.model import PartitionState
from replication.provenance import BY_ID, Origins, onward, rule_of
from replication.stamps import Birthplace, Recast
from replication.state import PRODUCERS_TOPIC, ProducerEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from replication.copier.ends import Clusters
    from replication.copier.lane import Lane
    from replication.copier.network import Fetched, Network
    from replication.copier.spec import UnitSpec
    from replication.provenance import Via

_DENIED = (
    f"the source does not let our user see {PRODUCERS_TOPIC}, so copies could not be told from "
    "records that were born there: allow it READ and DESCRIBE on that topic"
)
_CANNOT_FORWARD = (
    "it holds records that {alias} got from another cluster, and this flow is to pass them on: "
    "that needs appends of our own transactional ids, outside of transactions; let a flow of its "
    "own copy the topic from where they were born, or set copy.delivery = append"
)


@dataclass(slots=True)
class SourceRegistry:
    """Which batches of one cluster are copies. Kept from epoch to epoch."""

    source: Network
    origins: Origins = field(default_factory=Origins)
    _log: StateLog = field(init=False)
    _topic_id: bytes | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._log = StateLog(self.source, PRODUCERS_TOPIC)

    async def look_up(self, producer_ids: Collection[int], *, needed: bool = False) -> None:
        """Read the registry to its end, so that nothing is unknown of ``producer_ids`` (P1).

        Where our user may not see it, it tells nothing; if it is ``needed`` that is an error.
        Raises ClusterUnavailable or ClusterRejected.
        """
        async with self._turn:
            if self.origins.unknown(producer_ids):
                await self._read(needed=needed)
                self.origins.settle(producer_ids)

    async def _read(self, *, needed: bool) -> None:
        if self.source.topic_id(PRODUCERS_TOPIC) is None:
            await self.source.refresh([PRODUCERS_TOPIC])
        topic_id = self.source.topic_id(PRODUCERS_TOPIC)
        if topic_id is None and needed and self.source.denied(PRODUCERS_TOPIC):
            raise ClusterRejected(_DENIED)
        if topic_id is None:
            return  # nobody has ever copied to this cluster
        if topic_id != self._topic_id:  # what we knew of one that was there before stays true (P3)
            self._log.position, self._topic_id = -1, topic_id
        # A leader that is new does not say where the log ends before it knows, so not before what
        # was acked is in sight; the answer to a Fetch may lag behind that.
        end = await self.source.offset_at(self._log.partition, -1)
        while True:
            self.origins.learn(await self._log.read_on())
            if self._log.position >= end:
                return


@dataclass(slots=True)
class Forwarding:
    """Makes what was fetched ready to be taken in, for one unit."""

    spec: UnitSpec
    ends: Clusters
    settle: Callable[[Lane], None]  # a lane has trouble
    _producers: dict[Via, tuple[int, int]] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def prepare(self, news: Sequence[tuple[Lane, Fetched]]) -> bool:
        """Learn what the batches are; say whether it took a while, so that lanes may have moved.

        A lane for which that cannot be done has trouble afterwards.
        """
        ids = {
            lane: producer_ids(each.records)
            for lane, each in news
            if lane.passage is not None and each.records
        }
        unknown = self.ends.registry.origins.unknown(
            {each for some in ids.values() for each in some}
        )
        if not unknown and not any(_lacking(lane, some) for lane, some in ids.items()):
            return False
        try:
            async with self._turn:
                await self.ends.registry.look_up(unknown, needed=self.spec.copies_come)
                await self._admit_all(ids)
        except (ClusterUnavailable, ClusterRejected) as problem:
            for lane in ids:
                lane.suffer(Trouble(Remedy.RETRY, str(problem)))
                self.settle(lane)
        return True

    def forget(self) -> None:
        """Ask for new epochs of the producers: a takeover fences partitions against these."""
        self._producers.clear()

    async def _admit_all(self, ids: dict[Lane, set[int]]) -> None:
        lacking: dict[Via, list[Lane]] = defaultdict(list)
        for lane, some in ids.items():
            for via in _lacking(lane, some):
                if lane.forwards:
                    lacking[via].append(lane)
                elif lane.trouble is None:
                    reason = _CANNOT_FORWARD.format(alias=self.spec.source_alias)
                    lane.suffer(Trouble(Remedy.JUDGE, reason, PartitionState.REFUSED))
                    self.settle(lane)
        for via, lanes in lacking.items():
            async with self.ends.takeover.turn:
                await self._admit(via, [each for each in lanes if each.fetches])

    async def _admit(self, via: Via, lanes: Sequence[Lane]) -> None:
        """Give lanes a producer for what came by ``via``: registered (F) and claimed first."""
        name, takeover = onward(self.spec.transactional_id, via), self.ends.takeover
        if via not in self._producers:
            self._producers[via] = await self.ends.target.init_producer_id(name)
        producer = self._producers[via]
        await takeover.register(self._entry(name, producer[0], via))
        for lane in lanes:
            lane.admit(via, name, producer)
        now = int(time.time() * 1000)
        try:
            await takeover.anchors.append([each.anchor(now) for each in lanes])
        except BaseException:
            for lane in lanes:
                lane.dismiss(via)
            raise

    def _entry(self, name: str, producer_id: int, via: Via) -> ProducerEntry:
        origins = self.ends.registry.origins.entries.values()
        source = self.ends.source.cluster_id
        return ProducerEntry(
            producer_id,
            self.spec.flow,
            via[0],
            name,
            int(time.time() * 1000),
            self.spec.generation,
            (*via, source),
            next(each.alias for each in origins if each.came_by == via),
        )


def _lacking(lane: Lane, ids: Iterable[int]) -> set[Via]:
    """Return what is to be passed on and has no producer in the lane yet."""
    passage = lane.passage
    if passage is None:
        return set()
    found = {passage(each) for each in ids}
    return {via for via in found if via and not lane.has_producer(via)}


def give_passages(lanes: Iterable[Lane], ends: Clusters, spec: UnitSpec) -> None:
    """Let each lane copy by the rule in its claim."""
    passage, source_id = ends.registry.origins.passage, ends.source.cluster_id
    stamp = Birthplace(source_id, spec.source_alias) if spec.stamps else None
    for lane in lanes:
        rule = rule_of(lane.claimed.origins, ends.target.cluster_id)
        by_id = rule is not None and rule.by == BY_ID
        lane.passage = partial(passage, rule=rule) if rule is not None and by_id else None
        lane.look_up = partial(ends.registry.look_up, needed=spec.copies_come)
        shown = None if by_id else rule
        lane.recast = Recast(lane.source, shown, stamp) if shown or stamp else None
