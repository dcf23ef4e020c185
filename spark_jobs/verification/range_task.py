"""Compares ranges in a Spark task. A Python worker keeps its connections from task to task."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from replication.verification.ranges import RangeResult, VerifiedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from replication.verification.range_check import CheckedCluster, RangeCheck

_NAME = "isthmus-verify"


@dataclass(slots=True)
class _Worker:
    """What a Python worker keeps: a flow of a file, its connections and their event loop."""

    config: str
    flow: str
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    check: RangeCheck | None = None

    def run(self, checked: VerifiedRange) -> RangeResult:
        if self.check is None:
            self.check = self.loop.run_until_complete(_connected(self.config, self.flow))
        return self.loop.run_until_complete(self.check.check(checked))

    def close(self) -> None:
        """Close all connections."""
        if self.check is not None:
            self.loop.run_until_complete(self.check.source.network.close())
            self.loop.run_until_complete(self.check.target.network.close())
        self.loop.close()


_workers: dict[tuple[str, str, str], _Worker] = {}


def check_ranges(
    run: str, config: str, flow: str, ranges: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the result of each range. The task reads the file itself: no secret is in a task.

    ``run`` names the run: another one connects anew, as the file may have changed.
    Raises ClusterUnavailable, ClusterRejected.
    """
    key = run, config, flow
    if key not in _workers:
        forget()
        _workers[key] = _Worker(config, flow)
    for each in ranges:
        try:
            yield _workers[key].run(VerifiedRange.of_json(each)).as_json()
        except BaseException:
            forget()  # connections may be in any state
            raise


def forget() -> None:
    """Close what this process keeps."""
    while _workers:
        _workers.popitem()[1].close()


async def _connected(file: str, name: str) -> RangeCheck:
    from replication.adapters.wire import connect  # noqa: PLC0415 - workers only
    from replication.config.load import load_config  # noqa: PLC0415 - as above
    from replication.provenance.routes import Routes  # noqa: PLC0415 - as above
    from replication.verification.range_check import RangeCheck  # noqa: PLC0415 - as above

    config = load_config(Path(file)).config
    flow = config.flow(name)
    return RangeCheck(
        name,
        Routes.of(config.flows, config.clusters),
        _cluster(connect(flow.clients.source_consumer, _NAME)),
        _cluster(connect(flow.clients.target_admin, _NAME)),
    )


def _cluster(network: Any) -> CheckedCluster:
    from replication.provenance.anchored_producers import AnchoredProducers  # noqa: PLC0415
    from replication.provenance.producer_registry import SourceRegistry  # noqa: PLC0415
    from replication.verification.range_check import CheckedCluster  # noqa: PLC0415

    registry = SourceRegistry(network, anchored=AnchoredProducers(network))
    return CheckedCluster(network, registry)
