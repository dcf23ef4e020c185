"""The duties of a flow, in one place. What they do is in ``replication``; this only lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.config.model import Config, Flow
    from spark_jobs.duties import Duty


def duties_of(flow: Flow, config: Config) -> Iterator[Duty]:  # noqa: ARG001 - for duties to come
    """Yield what the driver is to do for ``flow`` besides copying.

    Making them costs nothing and asks no cluster: clients are made in the first run.
    """
    yield from ()
