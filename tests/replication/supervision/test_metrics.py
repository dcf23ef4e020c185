"""A driver's figures of a flow as samples of metrics."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replication.model import FlowState, PartitionPlan, PartitionState, TopicPartition
from replication.state import Anchor, FlowStatus, GroupPositions, Loss, Verification
from replication.supervision.flow_figures import FlowCounters, FlowFigures, FlowReading, TaskFigures
from replication.supervision.lag import FlowLag, PartitionLag, flow_lag
from replication.supervision.metric_catalogue import ALL, MetricType
from replication.supervision.metric_samples import OF_LATE_MS, flow_samples
from replication.supervision.recovery_point import RecoveryPoint, anchored, recovery_point

NOW = 1_700_000_000_000
ORDERS = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
USERS = TopicPartition("users", 0)


def plan(*sources: TopicPartition) -> tuple[PartitionPlan, ...]:
    return tuple(PartitionPlan(e, TopicPartition(f"A.{e.topic}", e.partition)) for e in sources)


def anchor(where: TopicPartition, **more) -> Anchor:
    given = {"state": PartitionState.RUNNING, "at_ms": NOW, "records": 10, "bytes": 100} | more
    return Anchor("A->B", *where, f"A.{where.topic}", 0, 0, **given)


def seen(**more) -> FlowFigures:
    """Return a flow in which two partitions of orders were copied, and nothing of users."""
    anchors = {
        ORDERS[0]: anchor(ORDERS[0], timed=2, age_ms=(4, 9, 10), latency_ms=(5, 20, 16)),
        ORDERS[1]: anchor(ORDERS[1], timed=8, age_ms=(6, 7, 40), latency_ms=(8, 11, 84), lost=3),
    }
    lag = FlowLag((PartitionLag(ORDERS[0], 5, 2.5), PartitionLag(ORDERS[1], 2, 0.5)))
    given = {
        "source": "A",
        "target": "B",
        "status": FlowStatus(
            "A->B", FlowState.RUNNING, generation=4, beat_ms=NOW, units=2, partitions=3
        ),
        "should_copy": True,
        "arrives": True,
        "tally": FlowCounters(query_starts=1),
        "tasks": (),
        "plan": plan(*ORDERS, USERS),
        "copied": FlowReading(NOW, anchors=anchors, lag=lag, lag_ms=NOW),
    }
    return FlowFigures(**(given | more))


def reported(
    figures: FlowFigures, detail: str = "topic"
) -> dict[str, dict[tuple[str, ...], object]]:
    """Return values by metric and labels, without the flow's own labels."""
    found: dict[str, dict[tuple[str, ...], object]] = {}
    for name, labels, value in flow_samples(figures, detail):
        assert labels[:2] == ("A", "B")
        values = found.setdefault(name.removeprefix("isthmus_"), {})
        assert labels[2:] not in values, "it is a duplicate"
        values[labels[2:]] = value
    return found


@pytest.mark.parametrize(
    ("detail", "records"),
    [
        ("flow", {(): 20}),
        ("topic", {("orders", "A.orders"): 20, ("users", "A.users"): 0}),
        (
            "partition",
            {
                ("orders", "A.orders", "0"): 10,
                ("orders", "A.orders", "1"): 10,
                ("users", "A.users", "0"): 0,
            },
        ),
    ],
)
def test_figures_are_as_fine_as_is_asked_for(detail, records):
    assert reported(seen(), detail)["records_total"] == records


def test_lag_is_the_sum_of_records_and_the_worst_of_seconds():
    found = reported(seen(), "flow")
    assert (found["lag_records"], found["lag_seconds"]) == ({(): 7}, {(): 2.5})
    assert found["partitions_without_position"] == {(): 1}


def test_lag_that_nobody_knows_is_not_0():
    found = reported(seen(copied=replace(seen().copied, lag=FlowLag(), source_answers=False)))
    assert not {"lag_records", "lag_seconds"} & found.keys()
    assert found["cluster_answers"] == {("A",): False, ("B",): True}
    assert found["partitions_without_position"] == {(): 3}
    assert found["records_total"]["orders", "A.orders"] == 20, "known figures are still reported"


def point(ends=None) -> RecoveryPoint:
    """Return what a failover would lose of orders; ``ends``: what the source tells now."""
    anchors = [
        anchor(ORDERS[0], source_end=5, behind_ms=2500),
        anchor(ORDERS[1], source_end=2, behind_ms=500, at_ms=NOW - 9000),
    ]
    groups = [GroupPositions("A->B", "shop", (("orders", 0, 4), ("orders", 1, 0)), NOW)]
    return recovery_point(anchored(anchors), groups, flow_lag(anchors, ends or {}, NOW), NOW)


def test_what_a_failover_would_lose_is_a_sum_and_the_worst_of_seconds():
    found = reported(seen(copied=replace(seen().copied, point=point(dict.fromkeys(ORDERS, 6)))))
    names = "rpo_records", "rpo_bytes", "rpo_seconds"
    assert [found[each] for each in names] == [{("orders", "A.orders"): n} for n in (12, 120, 9.5)]
    assert found["rpo_timestamp_seconds"] == {(): NOW / 1000}
    assert found["group_rpo_records"] == {("shop",): 8}
    assert found["group_rpo_bytes"] == {("shop",): 80}
    assert found["group_rpo_seconds"] == {("shop",): 9.5}


def test_while_the_source_is_silent_it_is_as_last_seen_and_a_metric_says_when():
    found = reported(seen(copied=replace(seen().copied, lag=FlowLag(), point=point())), "flow")
    assert (found["rpo_records"], found["rpo_seconds"]) == ({(): 7}, {(): 2.5})
    assert found["rpo_timestamp_seconds"] == {(): NOW / 1000 - 9}
    assert found["group_rpo_records"] == {("shop",): 3}


def test_delays_are_summed_and_the_worst_partition_counts():
    found = reported(seen(), "flow")
    assert found["record_age_seconds"] == {(): (10, 0.05)}
    assert found["replication_latency_seconds"] == {(): (10, 0.1)}
    assert found["record_age_last_seconds"] == {(): 0.006}
    assert found["replication_latency_max_seconds"] == {(): 0.02}


def test_of_what_was_long_ago_no_newest_delay_is_reported():
    later = replace(seen().copied, now_ms=NOW + OF_LATE_MS)
    found = reported(seen(copied=later))
    assert not {each for each in found if each.endswith(("last_seconds", "max_seconds"))}
    assert found["record_age_seconds"]["orders", "A.orders"] == (10, 0.05)


def test_partitions_are_counted_by_state_and_those_not_running_are_named():
    refused = anchor(ORDERS[1], state=PartitionState.REFUSED)
    anchors = {**seen().copied.anchors, ORDERS[1]: refused}
    found = reported(seen(copied=replace(seen().copied, anchors=anchors)), "flow")
    counts = {state: n for (state,), n in found["partitions"].items() if n}
    assert counts == {"RUNNING": 1, "REFUSED": 1, "WAITING": 1}
    assert found["partitions"].keys() == {(each,) for each in PartitionState}
    assert found["partition_not_running"] == {
        ("orders", "A.orders", "1", "REFUSED"): 1,
        ("users", "A.users", "0", "WAITING"): 1,
    }


def test_what_is_copied_no_more_is_not_told():
    found = reported(seen(plan=plan(USERS)))
    assert found["records_total"].keys() == {("users", "A.users")}
    assert found["flow_partitions"] == {(): 1}
    assert sum(found["partitions"].values()) == 1


def test_a_sum_does_not_go_back_when_a_topic_is_copied_no_more():
    found = reported(seen(plan=plan(USERS)), "flow")
    assert found["records_total"] == {(): 20}
    assert found["partitions_without_position"] == {(): 1}
    assert "lag_records" not in found


def test_before_there_is_a_plan_what_was_copied_is_reported():
    found = reported(seen(plan=None))
    assert found["records_total"].keys() == {("orders", "A.orders")}
    assert "flow_partitions" not in found


def test_before_the_target_has_answered_counters_do_not_begin_at_0():
    found = reported(seen(copied=FlowReading(NOW, is_known=False)))
    assert found.keys() & {"flow_state", "query_starts_total", "cluster_answers"}
    assert not found.keys() & {"records_total", "losses_total", "partitions", "lag_records"}


def test_a_flow_is_in_one_state():
    states = reported(seen())["flow_state"]
    assert [state for (state,), value in states.items() if value] == [FlowState.RUNNING]
    assert states.keys() == {(each,) for each in FlowState}


def test_losses_are_counted_before_there_is_one():
    loss = Loss("A->B", *USERS, "id", 3, PartitionState.LOST_RANGE, 5, "gone", NOW)
    nothing, one = (
        reported(seen(copied=replace(seen().copied, losses=losses))) for losses in ((), (loss,))
    )
    assert set(nothing["losses_total"].values()) == {0}
    assert nothing["losses_total"].keys() == one["losses_total"].keys()
    assert one["losses_total"]["LOST_RANGE",] == 1
    assert one["loss_timestamp_seconds"] == {(): NOW / 1000}
    assert "loss_timestamp_seconds" not in nothing


def test_tasks_and_epochs_are_counted():
    task = TaskFigures("group offsets").after(ok=True, took_ms=20, ended_ms=NOW)
    task = task.after(ok=False, took_ms=1500, ended_ms=NOW + 5000)
    epoch = {"takeovers": 2, "cpu_s": 0.5, "at_least_once": 1, "backed_off_to": 700}
    epoch |= {"source_throttled_ms": 250, "target_throttled_ms": 1_500}
    tally = FlowCounters(1).plus(epoch).plus(epoch)
    found = reported(seen(tasks=(task,), tally=tally, disk_limit=900))
    assert {name: found[f"duty_{name}"]["group offsets",] for name in
            ("ok", "seconds", "timestamp_seconds", "runs_total", "failures_total")} == {
        "ok": False, "seconds": 1.5, "timestamp_seconds": NOW / 1000 + 5, "runs_total": 2,
        "failures_total": 1,
    }  # fmt: skip
    names = "query_starts_total", "epochs_total", "takeovers_total", "copy_cpu_seconds_total"
    assert [found[name][()] for name in names] == [1, 2, 4, 1.0]
    assert found["partitions_at_least_once"] == {(): 1}
    assert found["throttle_seconds_total"] == {("A",): 0.5, ("B",): 3.0}
    assert found["backed_off_bytes_per_second"] == {("throttle",): 700, ("disk",): 900}


def test_every_metric_is_in_the_catalogue_and_comes_about():
    loss = Loss("A->B", *USERS, "id", 3, PartitionState.LOST_RANGE, 5, "gone", NOW)
    figures = seen(
        tasks=(TaskFigures("heartbeats"),),
        batch_good_ms=0,
        copied=replace(
            seen().copied, losses=(loss,), point=point(), verification=Verification("A->B")
        ),
    )
    known = {each.name: each for each in ALL}
    found = set()
    for name, labels, value in flow_samples(figures, "partition"):
        found.add(name)
        assert len(labels) == len(known[name].labels)
        assert isinstance(value, tuple) is (known[name].kind is MetricType.SUMMARY)
    assert found | {"isthmus_driver_info"} == known.keys()


@pytest.mark.parametrize(
    ("state", "alarms"), [("SOURCE_DELETED", 2), ("SOURCE_DENIED", 2), ("NOT_SELECTED", 0)]
)
def test_partitions_of_a_topic_that_is_gone_are_counted_in_their_state(state, alarms):
    copied = replace(seen().copied, anchors=dict(seen().copied.anchors), lag=FlowLag())
    found = reported(seen(plan=plan(USERS), absent={"orders": state}, copied=copied))
    assert {each: count for (each,), count in found["partitions"].items() if count} == {
        state: 2,
        "WAITING": 1,
    }
    gone = [labels for labels in found["partition_not_running"] if labels[0] == "orders"]
    assert len(gone) == alarms
    assert all(labels[-1] == state for labels in gone)
    assert found["partitions_without_position"] == {(): 1}, "users; the others have none to reach"
    assert state not in {each for (each,) in found["losses_total"]}


def test_when_all_was_last_equal_and_what_differed_since_is_published():
    last = Verification("A->B", NOW, "different", NOW - 5_000, 100, 3)
    found = reported(seen(copied=replace(seen().copied, verification=last)), "flow")
    assert found["verified_timestamp_seconds"] == {(): (NOW - 5_000) / 1000}
    assert found["verification_differences"] == {(): 3}
    assert "verified_timestamp_seconds" not in reported(seen(), "flow")


def test_the_last_run_of_a_batch_flow_that_copied_all_has_its_time():
    assert reported(seen(batch_good_ms=5_000))["batch_timestamp_seconds"] == {(): 5.0}
    assert reported(seen(batch_good_ms=0))["batch_timestamp_seconds"] == {(): 0.0}
    assert "batch_timestamp_seconds" not in reported(seen())


def state_of(figures: FlowFigures) -> list[str]:
    states = reported(figures)["flow_state"]
    return [state for (state,), value in states.items() if value]


def test_a_partition_that_halted_since_the_last_epoch_shows_in_the_flows_state():
    refused = anchor(ORDERS[1], state=PartitionState.REFUSED, generation=4)
    anchors = {**seen().copied.anchors, ORDERS[1]: refused, USERS: anchor(USERS)}
    copied = replace(seen().copied, anchors=anchors)
    assert state_of(seen(copied=copied)) == [FlowState.DEGRADED]
    assert state_of(seen(copied=copied, absent={"orders": "NOT_SELECTED"})) == [FlowState.RUNNING]


def test_a_flow_whose_units_have_not_begun_starts_also_in_its_metric():
    claimed = {each: anchor(each, state=PartitionState.WAITING) for each in ORDERS}
    copied = replace(seen().copied, anchors=claimed)
    assert state_of(seen(copied=copied)) == [FlowState.STARTING]
    unknown = FlowReading(NOW, is_known=False)
    assert state_of(seen(copied=unknown)) == [FlowState.RUNNING], "nobody has seen anchors"


def test_partitions_of_a_paused_flow_are_paused_and_none_of_them_is_named():
    paused = FlowStatus("A->B", FlowState.PAUSED, generation=4, beat_ms=NOW)
    found = reported(seen(status=paused, plan=plan(*ORDERS)))
    assert {state: n for (state,), n in found["partitions"].items() if n} == {"PAUSED": 2}
    assert "partition_not_running" not in found
