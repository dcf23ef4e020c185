"""All metrics: names, descriptions and labels.

Names follow Prometheus' custom: base units, ``_total`` for what only grows. ``docs/metrics.md`` has
the same list beside MirrorMaker 2's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class MetricType(StrEnum):
    """A metric's type, in Prometheus' words."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"  # a sample is (count, sum)


class Metric(NamedTuple):
    name: str
    kind: MetricType
    about: str
    labels: tuple[str, ...]


FLOW = ("source", "target")
DETAIL = ("topic", "target_topic", "partition")  # as many of them as ``metrics.detail`` asks for
_COUNTER, _GAUGE, _SUMMARY = MetricType

DRIVER = Metric(
    "isthmus_driver_info",
    _GAUGE,
    "Driver whose flows are exported here.",
    ("application", "host", "pid", "spark_master"),
)

OF_FLOWS = tuple(
    Metric(f"isthmus_{name}", kind, about, (*FLOW, *more))
    for name, kind, about, more in (
        ("flow_state", _GAUGE, "1 for the flow's current state, 0 for all others.", ["state"]),
        (
            "flow_wanted",
            _GAUGE,
            "1 if the flow's desired state is RUNNING; 0 if it is paused or stopped.",
            (),
        ),
        ("flow_generation", _GAUGE, "Generation of the driver's lease; each start adds one.", ()),
        ("flow_beat_timestamp_seconds", _GAUGE, "Time of the driver's last status record.", ()),
        (
            "flow_beat_arrives",
            _GAUGE,
            "0 if the last status record was not written to the target.",
            (),
        ),
        ("flow_tasks", _GAUGE, "Spark tasks of the flow.", ()),
        ("flow_partitions", _GAUGE, "Partitions in the flow's plan.", ()),
        ("partitions", _GAUGE, "Partitions in each state.", ["state"]),
        ("partitions_without_position", _GAUGE, "Partitions with unknown lag.", ()),
        (
            "partitions_at_least_once",
            _GAUGE,
            "Partitions copied at least once: records may repeat.",
            (),
        ),
        (
            "partition_not_running",
            _GAUGE,
            "1 for each partition not copied though it should be, regardless of metrics.detail.",
            [*DETAIL, "state"],
        ),
        (
            "lag_timestamp_seconds",
            _GAUGE,
            "Time when lag was last known; it stands still while a cluster does not answer.",
            (),
        ),
        (
            "rpo_timestamp_seconds",
            _GAUGE,
            "Time at which the source's ends were last seen; RPO metrics are as of then.",
            (),
        ),
        (
            "group_rpo_records",
            _GAUGE,
            "Records that the group had not read and that a failover would lose.",
            ["group"],
        ),
        (
            "group_rpo_bytes",
            _GAUGE,
            "Bytes that the group had not read and a failover would lose, by the mean record size.",
            ["group"],
        ),
        (
            "group_rpo_seconds",
            _GAUGE,
            "Age of the oldest record that the group had not read and a failover would lose.",
            ["group"],
        ),
        (
            "cluster_answers",
            _GAUGE,
            "0 if a cluster rejects requests or has not answered for 90 s.",
            ["cluster"],
        ),
        ("query_starts_total", _COUNTER, "Streaming queries started by this driver.", ()),
        ("epochs_total", _COUNTER, "Epochs that ended under this driver.", ()),
        ("takeovers_total", _COUNTER, "Partitions that were fenced and counted.", ()),
        ("copy_cpu_seconds_total", _COUNTER, "CPU time of copying, added when an epoch ends.", ()),
        (
            "throttle_seconds_total",
            _COUNTER,
            "Time for which quotas of a cluster throttled the flow; added when an epoch ends.",
            ["cluster"],
        ),
        (
            "backed_off_bytes_per_second",
            _GAUGE,
            "Byte rate to which the flow backed off because of its target; 0: it has not.",
            ["why"],
        ),
        (
            "losses_total",
            _COUNTER,
            "Recorded losses: events in which records were not copied.",
            ["state"],
        ),
        ("loss_timestamp_seconds", _GAUGE, "Time of the newest recorded loss.", ()),
        (
            "batch_timestamp_seconds",
            _GAUGE,
            "End time of the last run of a batch flow that copied all; 0: there is none.",
            (),
        ),
        (
            "verified_timestamp_seconds",
            _GAUGE,
            "Time of the last verification that found all equal; 0: there is none.",
            (),
        ),
        (
            "verification_differences",
            _GAUGE,
            "Differences that the last verification of all topics found.",
            (),
        ),
        ("duty_ok", _GAUGE, "1 if the last run of a background task succeeded.", ["duty"]),
        ("duty_seconds", _GAUGE, "Duration of the last run of a background task.", ["duty"]),
        (
            "duty_timestamp_seconds",
            _GAUGE,
            "End time of the last run of a background task.",
            ["duty"],
        ),
        ("duty_runs_total", _COUNTER, "Runs of a background task.", ["duty"]),
        ("duty_failures_total", _COUNTER, "Failed runs of a background task.", ["duty"]),
    )
)

OF_RECORDS = tuple(
    Metric(f"isthmus_{name}", kind, about, (*FLOW, *DETAIL))
    for name, kind, about in (
        ("records_total", _COUNTER, "Records copied since the flow's first start."),
        ("bytes_total", _COUNTER, "Bytes of record batches copied, as compressed at the source."),
        ("lost_offsets_total", _COUNTER, "Source offsets skipped by an on.* policy."),
        ("lag_records", _GAUGE, "Source records that are not copied yet."),
        ("lag_seconds", _GAUGE, "Age of the oldest record that is not copied yet; the worst."),
        ("rpo_records", _GAUGE, "Source records that a failover would lose, as last seen."),
        (
            "rpo_bytes",
            _GAUGE,
            "Bytes that a failover would lose, as last seen, by the partition's mean record size.",
        ),
        (
            "rpo_seconds",
            _GAUGE,
            "Age of the oldest record that a failover would lose, as last seen; the worst.",
        ),
        ("record_age_seconds", _SUMMARY, "Age of records when they were fetched from the source."),
        (
            "record_age_last_seconds",
            _GAUGE,
            "Age of the last batch when it was fetched; maximum over partitions.",
        ),
        (
            "record_age_max_seconds",
            _GAUGE,
            "Maximum age of records when they were fetched, over about the last minute.",
        ),
        (
            "replication_latency_seconds",
            _SUMMARY,
            "Age of records when the target acknowledged them.",
        ),
        (
            "replication_latency_last_seconds",
            _GAUGE,
            "Age of the last batch when the target acknowledged it; maximum over partitions.",
        ),
        (
            "replication_latency_max_seconds",
            _GAUGE,
            "Maximum age of records when the target acknowledged them, over about the last minute.",
        ),
    )
)

ALL = (DRIVER, *OF_FLOWS, *OF_RECORDS)
