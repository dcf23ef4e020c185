"""Compares one offset range of a partition with its copy, over the wire protocol."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from replication.errors import CorruptBatch
from replication.model import BY_HEADERS, OffsetRange
from replication.offsets.counted_log import CountedLog
from replication.provenance.origins import carried_over, rule_of
from replication.provenance.own_offsets import appended_by, copied_by
from replication.provenance.record_headers import ORIGIN, is_copied, origin_of
from replication.records.batch_comparison import BatchComparison, ComparedLog, CountedBatch
from replication.records.codec import headers_of
from replication.verification.range_parts import can_be_divided, differing_parts
from replication.verification.ranges import RangeResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from replication.client.network import Network
    from replication.provenance.origins import ForwardingRule
    from replication.provenance.own_offsets import Concerns
    from replication.provenance.producer_registry import SourceRegistry
    from replication.provenance.routes import Routes
    from replication.records.batch import Batch
    from replication.records.codec import BatchRecord
    from replication.verification.ranges import VerifiedRange


@dataclass(frozen=True, slots=True)
class CheckedCluster:
    """One of a flow's clusters, and its registry of producer ids."""

    network: Network
    registry: SourceRegistry


@dataclass(frozen=True, slots=True)
class RangeCheck:
    """Compares ranges of one flow. Raises ClusterUnavailable or ClusterRejected."""

    flow: str
    routes: Routes
    source: CheckedCluster
    target: CheckedCluster

    async def check(self, checked: VerifiedRange) -> RangeResult:
        """Compare one range, up to the first difference; of a straight one find what differs.

        A damaged batch is a difference.
        """
        began, cpu = time.monotonic(), time.process_time()
        rule, read = await self._prepare(checked), 0

        async def compare(part: VerifiedRange) -> RangeResult:
            nonlocal read
            result = await self._compared(part, rule)
            read += result.bytes
            return result

        found = await compare(checked)
        if can_be_divided(checked, found):
            parts = await differing_parts(checked, compare)
            found = replace(found, parts=tuple(parts))
        spent = time.monotonic() - began, time.process_time() - cpu
        return replace(found, bytes=read, seconds=spent[0], cpu_s=spent[1])

    async def _compared(self, checked: VerifiedRange, rule: ForwardingRule | None) -> RangeResult:
        source, target = self._logs(checked, rule)
        keeps = _keeper(rule) if rule is not None and rule.by == BY_HEADERS else None
        comparison = BatchComparison(
            ComparedLog(checked.source, keeps),
            ComparedLog(checked.target),
            (ORIGIN,),
        )
        damaged = ""
        try:
            async with AsyncExitStack() as stack:
                ours = await stack.enter_async_context(aclosing(source.batches(*checked.here)))
                theirs = await stack.enter_async_context(aclosing(target.batches(*checked.there)))
                await _run(comparison, _without(ours, checked.left_out), _without(theirs, ()))
        except CorruptBatch as error:
            damaged = str(error)
        return RangeResult(
            checked.number,
            not comparison.differs and not damaged,
            comparison.records,
            comparison.source.bytes + comparison.target.bytes,
            mark=comparison.mark,
            damaged=damaged,
        )

    async def _prepare(self, checked: VerifiedRange) -> ForwardingRule | None:
        """Look up leaders, and read the registries where they decide; return the flow's rule."""
        await self.source.network.refresh([checked.source.topic])
        await self.target.network.refresh([checked.target.topic])
        if not checked.own:
            return None
        await self.source.registry.read()
        await self.target.registry.read()
        rule = carried_over(self.routes.rule(self.flow, checked.source.topic), checked.origins)
        return rule_of(rule, self.target.network.cluster_id)

    def _logs(
        self, checked: VerifiedRange, rule: ForwardingRule | None
    ) -> tuple[CountedLog, CountedLog]:
        copied = copied_by(rule) if rule is not None and rule.by != BY_HEADERS else None
        appended = appended_by(self.flow) if checked.own else None
        return (
            CountedLog(
                self.source.network,
                checked.source,
                _counting(copied, self.source.registry),
                checked.source_committed,
                checked.left_out,
            ),
            CountedLog(
                self.target.network,
                checked.target,
                _counting(appended, self.target.registry),
                checked.target_committed,
            ),
        )


def _counting(concerns: Concerns | None, registry: SourceRegistry) -> Callable[[Batch], bool]:
    """Return what says whether the records of a batch count; ``concerns`` None: all do."""
    if concerns is None:
        return lambda _: True
    entries = registry.origins.entries
    return lambda batch: concerns(entries.get(batch.producer_id), batch.base)


def _keeper(rule: ForwardingRule) -> Callable[[BatchRecord], bool]:
    """Return what says whether the flow copies a record, by the record's headers."""
    return lambda record: is_copied(origin_of(headers_of(record)), rule)


async def _without(
    batches: AsyncGenerator[tuple[Batch, int, int], None], left_out: Sequence[OffsetRange]
) -> AsyncGenerator[CountedBatch, None]:
    """Yield the batches with the offsets that count; those that were left out do not."""
    async for batch, first, after in batches:
        for part in OffsetRange(first, after).without(left_out):
            yield CountedBatch(batch, *part)


async def _run(
    comparison: BatchComparison,
    source: AsyncGenerator[CountedBatch, None],
    target: AsyncGenerator[CountedBatch, None],
) -> None:
    sides = (comparison.source, source), (comparison.target, target)
    while not comparison.done:
        for side, batches in sides:
            if side.wants_more:
                side.give(await anext(batches, None))
        comparison.advance()
