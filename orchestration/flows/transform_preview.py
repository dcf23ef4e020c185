"""Shows what a transform makes of real records, by a job in a process of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestration.services.spark_job import run_job
from replication.errors import ConfigError
from replication.transforms.topic_transforms import TopicTransforms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow

_JOB = "spark_jobs.transform.preview"


@dataclass(frozen=True, slots=True)
class Previewed:
    """A record, what it becomes, and why it cannot be transformed; empty: it can."""

    partition: int
    offset: int
    before: Mapping[str, Any]
    after: Sequence[Mapping[str, Any]]
    problem: str = ""


def preview(config: Config, flow: Flow, topic: str, count: int) -> list[Previewed]:
    """Transform the newest records of a topic; nothing is written. Raises ReplicationError."""
    if TopicTransforms(flow.transforms).of(topic) is None:
        known = ", ".join(each.pattern for each in flow.transforms) or "none"
        raise ConfigError(
            f"{config.path}: {flow.name} has no transform for the topic {topic}; topics with one: "
            f"{known}"
        )
    path = str(config.path.absolute())
    request = {"config": path, "flow": flow.name, "topic": topic, "count": count}
    output: list[str] = []
    run_job(_JOB, request, output.append, f"{flow.name}, {topic} was not transformed")
    return [Previewed(**each) for each in json.loads(output[-1])]
