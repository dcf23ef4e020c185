"""Consumer groups of one cluster: list them, count members, read and commit offsets in bulk."""

from __future__ import annotations

import asyncio
import uuid
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import MetadataRequest

from replication.adapters.wire.connection.retries import COORDINATOR_MOVED, TRY_AGAIN, attempts
from replication.adapters.wire.coordinator_search import (
    FIND_COORDINATOR,
    CoordinatorType,
    find_coordinators,
)
from replication.adapters.wire.group_codec import (
    UNREADABLE,
    commit_request,
    kind_of,
    positions_of,
    rejection,
)
from replication.client.error_codes import ErrorCode, named_error
from replication.errors import ClusterRejected, ClusterUnavailable
from replication.offsets.groups.consumer_groups import Group

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from replication.adapters.wire.connection.connections import BrokerConnections
    from replication.errors import ReplicationError
    from replication.offsets.groups.consumer_groups import CommitGroup, Positions

    Call = Callable[[int | None, Any, int], Awaitable[Any]]  # node, request, highest version

_GROUPS_PER_REQUEST = 500  # responses stay small, and the broker serves others in between
_COMMITS_IN_FLIGHT = 100  # to one broker
# Highest versions; fetches of many groups began with 8.
_LIST, _FETCH, _COMMIT, _METADATA = 5, 8, 8, 12
_OFFSETS_TOPIC = "__consumer_offsets"
_NO_NODE = -1  # the key of a problem of no broker
_PAUSES_S = (0.05, 0.2, 0.5, 1.0)  # before a moved coordinator is looked up again
_CONSUMERS = {"", "consumer"}  # protocol types; others, as Connect's workers, commit no offsets
_FetchGroup = OffsetFetchRequest.OffsetFetchRequestGroup


class Groups:
    """``call`` sends a request to a broker; ``nodes`` lists the brokers.

    Raises ClusterUnavailable or ClusterRejected. An unavailable coordinator does not block groups
    of another one: its groups are left out, and ``unavailable`` holds the reason. Nor does a group
    that brokers refuse to read: ``unreadable`` says why, until it is read or is gone. It is never
    emptied in between, for other threads look at it.
    """

    def __init__(self, call: Call, nodes: Callable[[], Iterable[int]]) -> None:
        self._call = call
        self._nodes = nodes
        self.unavailable: dict[int, str] = {}  # brokers that did not answer last time
        self.unreadable: dict[str, str] = {}

    async def listed(self) -> dict[str, Group]:
        """Return all groups that the credentials may see, with their coordinators."""
        nodes = [each for each in self._nodes() if each >= 0]
        asked = await asyncio.gather(*map(self._list_of, nodes), return_exceptions=True)
        self.unavailable = {
            node: str(answer)
            for node, answer in zip(nodes, asked, strict=True)
            if isinstance(answer, ClusterUnavailable)
        }
        for answer in asked:
            if isinstance(answer, BaseException) and not isinstance(answer, ClusterUnavailable):
                raise answer
        if nodes and len(self.unavailable) == len(nodes):
            raise ClusterUnavailable(next(iter(self.unavailable.values())))
        self.unavailable |= await self._without_coordinator()
        found = {g.name: g for answer in asked if isinstance(answer, list) for g in answer}
        if not self.unavailable:  # else a group that is not listed may exist
            self.unreadable = {name: why for name, why in self.unreadable.items() if name in found}
        return found

    async def _without_coordinator(self) -> dict[int, str]:
        """Return the reason if some groups have no coordinator now: no broker lists those.

        Empty where our user may not describe the offsets topic.
        """
        request = MetadataRequest(
            topics=[
                MetadataRequest.MetadataRequestTopic(topic_id=uuid.UUID(int=0), name=_OFFSETS_TOPIC)
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
        return {_NO_NODE: f"groups in partition {which} of {_OFFSETS_TOPIC} have no coordinator"}

    async def _list_of(self, node: int) -> list[Group]:
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
                raise ClusterRejected(f"listing groups: {named_error(answer.error_code)}")
        raise ClusterUnavailable("listing groups: the coordinators are not ready")

    async def positions(self, groups: Iterable[Group]) -> dict[str, Positions]:
        """Return the committed offsets of groups in all partitions.

        Of a group that does not exist there are none.
        """
        by_node = await self._by_coordinator([e for e in groups if e.kind != "share"])
        work = (self._offsets_of(*each) for each in by_node.items())
        found = await asyncio.gather(*work, return_exceptions=True)
        positions: dict[str, Positions] = {}
        for node, answer in zip(by_node, found, strict=True):
            if isinstance(answer, ClusterUnavailable):
                self.unavailable[node] = str(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                positions |= answer
        return positions

    async def _by_coordinator(self, groups: Sequence[Group]) -> dict[int, list[str]]:
        """Return the groups of each coordinator, which is searched where it is not known."""
        found = await self._coordinators([each.name for each in groups if each.node is None])
        by_node: dict[int, list[str]] = defaultdict(list)
        for each in groups:
            node = found.get(each.name) if each.node is None else each.node
            if node is None:
                self.unavailable[_NO_NODE] = f"group {each.name} has no coordinator"
            else:
                by_node[node].append(each.name)
        return by_node

    async def _offsets_of(self, node: int, names: Sequence[str]) -> dict[str, Positions]:
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
            if set(some) - {each.group_id for each in answer.groups}:
                self.unavailable[node] = f"coordinator {node}: its response lacks some groups"
            for each in answer.groups:
                if each.error_code in {ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND}:
                    self.unreadable.pop(each.group_id, None)
                if each.error_code == ErrorCode.NONE:
                    positions[each.group_id] = positions_of(each)
                elif each.error_code in COORDINATOR_MOVED:
                    self.unavailable[node] = (
                        f"coordinator {node} is not ready: {named_error(each.error_code)}"
                    )
                elif each.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                    why = UNREADABLE.get(each.error_code, named_error(each.error_code))
                    self.unreadable[each.group_id] = f"reading its offsets: {why}"
        return positions

    async def commit(self, plan: Sequence[CommitGroup]) -> dict[str, ReplicationError]:
        """Commit offsets; return the reason for each group of which a partition was rejected.

        It is ClusterRejected where the same commit would be rejected again.

        The commit has no member id: the coordinator rejects it while the group has members.
        """
        unknown = [each.group for each in plan if each.node is None]
        coordinators = await self._coordinators(unknown)
        turns: dict[int, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(_COMMITS_IN_FLIGHT)
        )

        async def one(action: CommitGroup) -> ReplicationError | None:
            node = coordinators.get(action.group) if action.node is None else action.node
            why: ReplicationError | None = ClusterUnavailable("it has no coordinator")
            for pause in _PAUSES_S:
                if node is not None:
                    async with turns[node]:
                        codes, why = await self._commit(node, action)
                    if not codes & COORDINATOR_MOVED:
                        return why
                await asyncio.sleep(pause)
                node = (await self._coordinators([action.group])).get(action.group)
            return why

        reasons = await asyncio.gather(*map(one, plan))
        return {e.group: why for e, why in zip(plan, reasons, strict=True) if why is not None}

    async def _commit(
        self, node: int, action: CommitGroup
    ) -> tuple[set[int], ReplicationError | None]:
        try:
            answer = await self._call(node, commit_request(action), _COMMIT)
        except ClusterUnavailable as problem:
            return set(), problem
        codes, why = rejection(answer, action)
        kind = ClusterUnavailable if codes and codes <= TRY_AGAIN else ClusterRejected
        return codes, kind(why) if why else None

    async def _coordinators(self, names: Sequence[str]) -> dict[str, int]:
        """Return the coordinators of groups."""
        coordinators: dict[str, int] = {}
        async for _ in attempts():
            missing = [each for each in names if each not in coordinators]
            if not missing:
                break
            for some in _slices(missing):
                request = find_coordinators(CoordinatorType.GROUP, some)
                answer = await self._call(None, request, FIND_COORDINATOR)
                coordinators |= {e.key: e.node_id for e in answer.coordinators if not e.error_code}
        return coordinators


def _slices(names: Sequence[str]) -> Iterator[list[str]]:
    rest = iter(names)
    while some := list(islice(rest, _GROUPS_PER_REQUEST)):
        yield some


async def members(
    connections: BrokerConnections,
    call: Callable[[int | None, Any, int], Awaitable[Any]],
    group: str,
) -> int:
    """Return the number of members of a group of any protocol, Connect's worker groups included.

    Raises ClusterRejected if our user may not describe it.
    """
    async for _ in attempts():
        request = find_coordinators(CoordinatorType.GROUP, [group])
        found = _only((await call(None, request, FIND_COORDINATOR)).coordinators, group)
        error = found.error_code
        if not error:
            connections.brokers.setdefault(found.node_id, (found.host, found.port))
            request = DescribeGroupsRequest(groups=[group], include_authorized_operations=False)
            described = _only((await call(found.node_id, request, 5)).groups, group)
            error = described.error_code
            if error in {ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND}:
                return len(described.members)
        if error not in COORDINATOR_MOVED:
            raise ClusterRejected(f"describing group {group}: {named_error(error)}")
    raise ClusterUnavailable(f"describing group {group}: its coordinator is not ready")


def _only(listed: Sequence[Any], group: str) -> Any:
    if not listed:
        raise ClusterUnavailable(f"describing group {group}: the response is empty")
    return listed[0]
