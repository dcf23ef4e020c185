"""The ACLs that Isthmus requires for the flows of a file and for drills of them. Pure but a read.

A drill needs what its two flows need, and may also delete what is its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from replication.client.acl_values import GROUP, TOPIC, Resource
from replication.config.drill_file import drill_file
from replication.config.load import examine
from replication.planning.required_acls import RequiredAcl, needed
from replication.state import dead_letters_topic, flow_topics
from replication.state.drill_names import DrillNames

if TYPE_CHECKING:
    from collections.abc import Iterator

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_CANARIES = ("READ", "WRITE", "CREATE", "DELETE", "DESCRIBE_CONFIGS")


def needed_with_drills(config: Config, *, drills: bool = False) -> tuple[RequiredAcl, ...]:
    """Return what the flows of a file need, by cluster and resource, with that of their drills.

    ``drills``: also of flows without ``drill.schedule``. Raises ConfigError where the file has
    errors by now.
    """
    drilled = [each for each in config.flows if drills or each.drill_schedule]
    found = (*needed(config), *(need for each in drilled for need in _of_drill(each, config)))
    return tuple(sorted(found, key=lambda each: (each.cluster, each.resource, each.flow)))


def _of_drill(flow: Flow, config: Config) -> Iterator[RequiredAcl]:
    names = DrillNames(flow.source, flow.target)
    loaded, _ = examine(config.path, content=drill_file(config, names).encode())
    if loaded is None:
        return
    real = {names.source_alias: flow.source, names.target_alias: flow.target}
    for each in (*needed(loaded.config), *_own(names, loaded.config)):
        yield replace(
            each, cluster=real[each.cluster], flow=flow.name, why=f"isthmus drill: {each.why}"
        )


def _own(names: DrillNames, shadow: Config) -> Iterator[RequiredAcl]:
    """Yield what a drill may do with its own topics and its group, on either cluster."""
    for flow in shadow.flows:
        canaries = Resource(TOPIC, names.topic)
        yield RequiredAcl(flow.target, canaries, _CANARIES, "the canary topic", flow.name)
        for topic in (*flow_topics(flow.source), dead_letters_topic(flow.source)):
            state = Resource(TOPIC, topic)
            yield RequiredAcl(flow.target, state, ("DELETE",), "its own state", flow.name)
        group = Resource(GROUP, names.group)
        yield RequiredAcl(flow.target, group, ("READ", "DELETE"), "its group", flow.name)
