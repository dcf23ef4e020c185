"""All metrics: their names, what they mean, and by what they are told apart.

Names follow Prometheus' custom: base units, ``_total`` for what only grows. ``docs/metrics.md`` has
the same list beside MirrorMaker 2's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """A metric's type, in Prometheus' words."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"  # a sample is (count, sum)


class Metric(NamedTuple):
    name: str
    kind: Kind
    about: str
    labels: tuple[str, ...]


FLOW = ("source", "target")
DETAIL = ("topic", "target_topic", "partition")  # as many of them as ``metrics.detail`` asks for
_COUNTER, _GAUGE, _SUMMARY = Kind

DRIVER = Metric(
    "isthmus_driver_info",
    _GAUGE,
    "Who drives the flows that are served here.",
    ("application", "host", "pid", "spark_master"),
)

OF_FLOWS = tuple(
    Metric(f"isthmus_{name}", kind, about, (*FLOW, *more))
    for name, kind, about, more in (
        ("flow_state", _GAUGE, "1 for the state that the flow is in, 0 for all others.", ["state"]),
        ("flow_wanted", _GAUGE, "1 if the flow is to run; 0: somebody paused or stopped it.", ()),
        ("flow_generation", _GAUGE, "Generation of the driver's lease; each start adds one.", ()),
        ("flow_beat_timestamp_seconds", _GAUGE, "When the driver last wrote the status.", ()),
        ("flow_beat_arrives", _GAUGE, "0 if the last status did not reach the target.", ()),
        ("flow_tasks", _GAUGE, "Spark tasks that the flow is spread over.", ()),
        ("flow_partitions", _GAUGE, "Partitions that are to be copied.", ()),
        ("partitions", _GAUGE, "Partitions in each state.", ["state"]),
        ("partitions_without_position", _GAUGE, "Partitions whose lag is not known.", ()),
        ("partitions_at_least_once", _GAUGE, "Partitions whose records may come twice.", ()),
        (
            "partition_not_running",
            _GAUGE,
            "1 for each partition that is in another state than RUNNING, whatever metrics.detail.",
            [*DETAIL, "state"],
        ),
        ("cluster_answers", _GAUGE, "0 if a cluster refuses, or is silent for 90 s.", ["cluster"]),
        ("query_starts_total", _COUNTER, "Streaming queries started by this driver.", ()),
        ("epochs_total", _COUNTER, "Epochs that ended under this driver.", ()),
        ("takeovers_total", _COUNTER, "Partitions that were fenced and counted.", ()),
        ("copy_cpu_seconds_total", _COUNTER, "CPU time of copying, told as epochs end.", ()),
        ("losses_total", _COUNTER, "Events by which records were not copied.", ["state"]),
        ("loss_timestamp_seconds", _GAUGE, "When the newest loss was noted.", ()),
        ("duty_ok", _GAUGE, "1 if the last run of a duty went well.", ["duty"]),
        ("duty_seconds", _GAUGE, "How long the last run of a duty took.", ["duty"]),
        ("duty_timestamp_seconds", _GAUGE, "When the last run of a duty ended.", ["duty"]),
        ("duty_runs_total", _COUNTER, "Runs of a duty.", ["duty"]),
        ("duty_failures_total", _COUNTER, "Runs of a duty that failed.", ["duty"]),
    )
)

OF_RECORDS = tuple(
    Metric(f"isthmus_{name}", kind, about, (*FLOW, *DETAIL))
    for name, kind, about in (
        ("records_total", _COUNTER, "Records copied since the flow's first start."),
        ("bytes_total", _COUNTER, "Bytes of record batches copied, compressed as they are."),
        ("lost_offsets_total", _COUNTER, "Source offsets that were passed over by policy."),
        ("lag_records", _GAUGE, "Records at the source that are not copied yet."),
        ("lag_seconds", _GAUGE, "Age of the oldest record that is not copied yet; the worst."),
        ("record_age_seconds", _SUMMARY, "Age of records when they were read."),
        ("record_age_last_seconds", _GAUGE, "The same of the last batch; the worst partition."),
        ("record_age_max_seconds", _GAUGE, "The longest of about the last minute."),
        ("replication_latency_seconds", _SUMMARY, "Age of records when the target had them."),
        ("replication_latency_last_seconds", _GAUGE, "The same of the last batch; the worst."),
        ("replication_latency_max_seconds", _GAUGE, "The longest of about the last minute."),
    )
)

ALL = (DRIVER, *OF_FLOWS, *OF_RECORDS)
