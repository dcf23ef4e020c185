"""Waits until a flow has copied what its source holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orchestration.flows.comparison.flow_comparison import FlowComparison
from orchestration.flows.comparison.topic_comparison import Options
from replication.errors import ClusterRejected
from replication.planning.explain import counted

if TYPE_CHECKING:
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_EVERY = re.compile(".*")
_SHOWN = 5  # partitions


def wait_until_copied(
    flow: Flow, config: Config, limit_s: float, left_s: float | None = None
) -> str:
    """Wait until a flow has copied what its source holds now. Raises ClusterRejected if not.

    ``left_s``: what is left of the limit, if it began before.
    """
    options = Options(flow.copying.isolation)
    with FlowComparison(flow, config, _EVERY, options) as comparison:
        partitions = comparison.selected_partitions
        left_s = limit_s if left_s is None else left_s
        uncopied = comparison.wait(left_s, lambda _: None, partitions)
        parts = counted(len(partitions), "partition")
    if uncopied:
        examples = (f"{e.partition} up to {e.copied or 0} of {e.end}" for e in uncopied[:_SHOWN])
        raise ClusterRejected(
            f"{flow.name}: {len(uncopied)} of {parts} not copied in {limit_s:g} s: "
            f"{'; '.join(examples)}; see its lag in isthmus status FILE, or choose a longer "
            "--timeout"
        )
    return f"all of {parts} is on {flow.target}"
