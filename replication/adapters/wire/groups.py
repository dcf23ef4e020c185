"""Consumer groups of one cluster: listed, their positions read and set, many in one request."""

from __future__ import annotations

import asyncio
import uuid
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from replication.adapters.wire.connections import COORDINATOR_MOVED, attempts
from replication.adapters.wire.group_codec import (
    WHY,
    commit_request,
    kind_of,
    positions_of,
    refused,
)
from replication.client.error_codes import ErrorCode
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.offsets.consumer_groups import Group

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from replication.offsets.consumer_groups import CommitGroup, Positions

    Call = Callable[[int | None, Any, int], Awaitable[Any]]  # node, request, highest version

_AT_ONCE = 500  # groups a request: answers stay small, and a broker serves others in between
_COMMITS = 100  # on their way to a broker at a time
# Highest versions; fetches of many groups began with 8.
_LIST, _FIND, _FETCH, _COMMIT, _METADATA = 5, 4, 8, 8, 12
_COORDINATION = "__consumer_offsets"
_NOWHERE = -1  # stands for a broker that is none
_PAUSES_S = (0.05, 0.2, 0.5, 1.0)  # before a coordinator that has just moved is asked again
_CONSUMERS = {"", "consumer"}  # protocols; Connect's workers and others commit no offsets
_FetchGroup = OffsetFetchRequest.OffsetFetchRequestGroup


class Groups:
    """``call`` asks a broker; ``nodes`` says which ones there are.

    Raises ClusterUnavailable or ClusterRejected. A coordinator that is away holds up no group of
    another one: its groups are left out, and ``away`` says why.
    """

    def __init__(self, call: Call, nodes: Callable[[], Iterable[int]]) -> None:
        self._call = call
        self._nodes = nodes
        self.away: dict[int, str] = {}  # brokers that did not answer the last time

    async def listed(self) -> dict[str, Group]:
        """Return all groups that the credentials may see, with their coordinators."""
        nodes = [each for each in self._nodes() if each >= 0]
        asked = await asyncio.gather(*map(self._list, nodes), return_exceptions=True)
        self.away = {
            node: str(answer)
            for node, answer in zip(nodes, asked, strict=True)
            if isinstance(answer, ClusterUnavailable)
        }
        for answer in asked:
            if isinstance(answer, BaseException) and not isinstance(answer, ClusterUnavailable):
                raise answer
        if nodes and len(self.away) == len(nodes):
            raise ClusterUnavailable(next(iter(self.away.values())))
        self.away |= await self._without_coordinator()
        return {g.name: g for answer in asked if isinstance(answer, list) for g in answer}

    async def _without_coordinator(self) -> dict[int, str]:
        """Return a complaint if some groups have no coordinator now: nobody lists those.

        Nothing where we may not look at the topic of coordinators.
        """
        request = MetadataRequest(
            topics=[
                MetadataRequest.MetadataRequestTopic(topic_id=uuid.UUID(int=0), name=_COORDINATION)
            ],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        answer = await self._call(None, request, _METADATA)
        lost = sorted(
            each.partition_index
            for topic in answer.topics
            for each in topic.partitions
            if each.leader_id < 0
        )
        if not lost:
            return {}
        which = ", ".join(map(str, lost[:5])) + (", …" if len(lost) > 5 else "")
        return {_NOWHERE: f"groups in partition {which} of {_COORDINATION} have no coordinator"}

    async def _list(self, node: int) -> list[Group]:
        request = ListGroupsRequest(states_filter=[], types_filter=[])
        async for _ in attempts():
            answer = await self._call(node, request, _LIST)
            if answer.error_code == ErrorCode.NONE:
                return [
                    Group(
                        each.group_id,
                        each.group_state or "",
                        kind_of(each),
                        node,
                    )
                    for each in answer.groups
                    if each.protocol_type in _CONSUMERS or kind_of(each) != "classic"
                ]
            if answer.error_code not in COORDINATOR_MOVED:
                raise ClusterRejected(f"listing groups: error {answer.error_code}")
        raise ClusterUnavailable("listing groups: the coordinators are not ready")

    async def positions(self, groups: Iterable[Group]) -> dict[str, Positions]:
        """Return the positions of groups in all partitions that they have one in."""
        by_node: dict[int, list[str]] = defaultdict(list)
        for each in groups:
            if each.kind != "share":
                by_node[each.node].append(each.name)
        work = (self._of_node(*each) for each in by_node.items())
        found = await asyncio.gather(*work, return_exceptions=True)
        positions: dict[str, Positions] = {}
        for node, answer in zip(by_node, found, strict=True):
            if isinstance(answer, ClusterUnavailable):
                self.away[node] = str(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                positions |= answer
        return positions

    async def _of_node(self, node: int, names: Sequence[str]) -> dict[str, Positions]:
        positions: dict[str, Positions] = {}
        for some in _slices(names):
            request = OffsetFetchRequest(
                groups=[
                    _FetchGroup(group_id=each, member_id=None, member_epoch=-1, topics=None)
                    for each in some
                ],
                require_stable=True,  # an offset that is part of an open transaction may go back
            )
            answer = await self._call(node, request, _FETCH)
            for each in answer.groups:
                if each.error_code == ErrorCode.NONE:
                    positions[each.group_id] = positions_of(each)
                elif each.error_code in COORDINATOR_MOVED:
                    self.away[node] = f"coordinator {node} is not ready: error {each.error_code}"
                elif each.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                    why = WHY.get(each.error_code, f"error {each.error_code}")
                    raise ClusterRejected(f"reading the offsets of group {each.group_id}: {why}")
        return positions

    async def commit(self, plan: Sequence[CommitGroup]) -> dict[str, str]:
        """Set positions; return why it was not done, for each group that was refused in part.

        As somebody who is no member: the coordinator itself refuses that while there are members.
        """
        homes = await self._homes([each.group for each in plan if each.node < 0])
        turns: dict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(_COMMITS))

        async def one(action: CommitGroup) -> str:
            node = action.node if action.node >= 0 else homes.get(action.group)
            why = "it has no coordinator"
            for pause in _PAUSES_S:
                if node is not None:
                    async with turns[node]:
                        codes, why = await self._commit(node, action)
                    if not codes & COORDINATOR_MOVED:
                        return why
                await asyncio.sleep(pause)
                node = (await self._homes([action.group])).get(action.group)
            return why

        said = await asyncio.gather(*map(one, plan))
        return {each.group: why for each, why in zip(plan, said, strict=True) if why}

    async def _commit(self, node: int, action: CommitGroup) -> tuple[set[int], str]:
        try:
            answer = await self._call(node, commit_request(action), _COMMIT)
        except ClusterUnavailable as problem:
            return set(), str(problem)
        return refused(answer)

    async def _homes(self, names: Sequence[str]) -> dict[str, int]:
        """Return the coordinators of groups that are not there yet."""
        homes: dict[str, int] = {}
        async for _ in attempts():
            missing = [each for each in names if each not in homes]
            if not missing:
                break
            for some in _slices(missing):
                request = FindCoordinatorRequest(key=some[0], key_type=0, coordinator_keys=some)
                answer = await self._call(None, request, _FIND)
                homes |= {e.key: e.node_id for e in answer.coordinators if not e.error_code}
        return homes


def _slices(names: Sequence[str]) -> Iterator[list[str]]:
    rest = iter(names)
    while some := list(islice(rest, _AT_ONCE)):
        yield some
