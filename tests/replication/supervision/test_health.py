from dataclasses import replace
from datetime import timedelta

import pytest

from replication.model import Desired
from replication.state import Anchor, BatchRun, FlowStatus
from replication.supervision.health import (
    BEAT_STALE_MS,
    START_MS,
    FlowObservation,
    Health,
    flow_health,
)

NOW = 1_000_000


def status(state: str = "RUNNING", **rest: object) -> FlowStatus:
    values = {"host": "here", "pid": 7, "beat_ms": NOW - 500, "partitions": 4, **rest}
    return FlowStatus("A->B", state, **values)


def anchor(state: str, reason: str = "", **rest: object) -> Anchor:
    return Anchor("A->B", "orders", 3, "A.orders", 1, 1, state=state, reason=reason, **rest)


COPIED = (anchor("RUNNING"),)


def seen(**rest: object) -> FlowObservation:
    defaults = {"status": status(), "driver": True, "anchors": COPIED}
    return FlowObservation("A->B", "here", NOW, **{**defaults, **rest})


def test_a_flow_that_copies_all_its_partitions_is_well():
    assert flow_health(seen()) == Health("RUNNING", healthy=True, reason="4 partitions")


@pytest.mark.parametrize(
    ("look", "state", "reason"),
    [
        pytest.param(
            seen(target_silence="target B gave no answer (closed)"),
            "UNKNOWN",
            "target B gave no answer (closed)",
            id="the target is silent",
        ),
        pytest.param(
            seen(source_silence="source A gave no answer (closed)"),
            "RUNNING",
            "source A gave no answer (closed)",
            id="the source is silent",
        ),
        pytest.param(
            seen(status=status(partitions=0, reason="A shows no topics at all")),
            "DEGRADED",
            "copies nothing: A shows no topics at all",
            id="no topic is visible",
        ),
        pytest.param(
            seen(status=status("FAILED", reason="A: password expired, renew it")),
            "FAILED",
            "A: password expired, renew it",
            id="the flow failed",
        ),
        pytest.param(
            seen(
                status=status("DEGRADED", not_running=1),
                anchors=(anchor("RUNNING"), anchor("REFUSED", "record of 9 MB is too large")),
            ),
            "DEGRADED",
            "orders-3 is REFUSED: record of 9 MB is too large; choose with `isthmus resolve FILE`: "
            "skip",
            id="one partition is not copied",
        ),
        pytest.param(
            seen(driver=False),
            "DEAD",
            "no driver: last status 0 s ago (process 7 on here, RUNNING); see `isthmus logs FILE`; "
            "`isthmus run FILE` restarts it",
            id="the driver was killed a moment ago",
        ),
        pytest.param(
            seen(status=status(beat_ms=NOW - BEAT_STALE_MS, reason="out of memory")),
            "DEAD",
            "the driver's process runs, but hangs: last status 15 s ago (process 7 on here, "
            "RUNNING); last reason: out of memory; see `isthmus logs FILE`; "
            "`isthmus run FILE` restarts it",
            id="the driver hangs",
        ),
        pytest.param(
            seen(status=None, driver=False),
            "STARTING",
            "no driver has reported yet (`isthmus run FILE` starts one)",
            id="no driver yet",
        ),
        pytest.param(seen(status=None), "STARTING", "the driver is starting", id="no beat yet"),
    ],
)
def test_bl_138_what_is_not_well_says_why(look, state, reason):
    assert flow_health(look) == Health(state, healthy=False, reason=reason)


def test_bl_141_what_a_flow_asks_for_in_vain_is_shown_although_it_is_well():
    gap = "no topic of the source matches later yet"
    assert flow_health(seen(status=status(reason=gap))).reason == f"4 partitions; {gap}"


def test_a_driver_on_another_host_is_judged_by_its_beat():
    assert flow_health(seen(driver=False, status=status(host="there"))).healthy


@pytest.mark.parametrize(
    ("desired", "state"), [(Desired.PAUSE, "PAUSED"), (Desired.STOP, "STOPPED")]
)
def test_what_is_not_to_run_is_well_when_it_does_not_run(desired, state):
    assert flow_health(seen(desired=desired, status=status(state))) == Health(
        state, healthy=True, reason="matches desired state"
    )
    assert flow_health(seen(desired=desired)) == Health(
        "RUNNING", healthy=False, reason=f"changing to {state}"
    )


def test_a_stopped_flow_needs_no_driver():
    assert flow_health(seen(desired=Desired.STOP, driver=False)).healthy


def test_a_partition_that_stopped_since_the_last_epoch_is_seen_at_once():
    stopped = anchor("REFUSED", "too large", at_ms=NOW - 900)
    look = seen(status=status(reason="2 partitions use transactional"), anchors=(stopped,))
    assert flow_health(look).state == "DEGRADED"
    assert flow_health(look).reason.startswith("orders-3 is REFUSED: too large")


def test_a_partition_that_was_halted_before_it_was_claimed_counts_at_once():
    """Its anchor has the generation of the last claim; its time says that this driver wrote it."""
    now = status(generation=4, started_ms=NOW - 20_000)
    waits = anchor("NAME_CHANGED", at_ms=NOW - 900, generation=3)
    assert flow_health(seen(status=now, anchors=(waits,))).state == "DEGRADED"
    before = anchor("NAME_CHANGED", at_ms=NOW - 21_000, generation=3)
    assert flow_health(seen(status=now, anchors=(before,))).state == "RUNNING"


@pytest.mark.parametrize("rest", [{"at_ms": NOW - 90_000}, {"at_ms": NOW - 900, "generation": 3}])
def test_a_partition_that_is_not_copied_any_more_is_no_trouble(rest):
    now = status(started_ms=NOW - 800)
    assert flow_health(seen(status=now, anchors=(anchor("REFUSED", **rest),))).state == "RUNNING"


def test_a_flow_whose_partitions_have_come_back_is_well_before_the_epoch_ends():
    again = seen(status=status("DEGRADED", not_running=1), anchors=(anchor("RUNNING"),))
    assert flow_health(again) == Health("RUNNING", healthy=True, reason="4 partitions")


def test_a_unit_that_could_not_begin_is_no_better_for_its_last_anchors():
    stuck = status("DEGRADED", not_running=1, reason="not authorized")
    assert flow_health(seen(status=stuck, anchors=(anchor("RUNNING"),))).state == "DEGRADED"


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(seen(driver=False, status=status("STOPPED")), id="it ended cleanly here"),
        pytest.param(
            seen(driver=False, status=status("STOPPED", host="there")),
            id="it ended on another host",
        ),
        pytest.param(seen(driver=False, stopped_ms=NOW - 400), id="it was killed while stopping"),
        pytest.param(
            seen(driver=False, status=None, stopped_ms=NOW - 400), id="it had no time to beat"
        ),
    ],
)
def test_a_driver_that_was_stopped_on_purpose_is_not_dead(look):
    found = flow_health(look)
    where = look.status.host if look.status else "here"
    assert (found.state, found.healthy) == ("STOPPED", False)
    assert found.reason == (
        f"stopped 0 s ago on {where} (`isthmus down`, Ctrl-C or a signal); "
        "start it with `isthmus run FILE`"
    )


@pytest.mark.parametrize(
    "rest", [{"beat_ms": NOW - 100}, {"host": "there", "beat_ms": NOW - 90_000}]
)
def test_a_driver_that_beat_after_the_last_stop_or_elsewhere_is_dead(rest):
    look = seen(driver=False, status=status(**{"host": "here", **rest}), stopped_ms=NOW - 400)
    assert flow_health(look).state == "DEAD"


def test_a_driver_that_follows_a_stopped_one_is_starting_until_it_beats():
    look = seen(status=status("STOPPED"))
    assert flow_health(look) == Health("STARTING", healthy=False, reason="the driver is starting")


def test_who_stopped_or_paused_a_flow_is_said():
    look = seen(desired=Desired.STOP, desired_by="ann@ops", driver=False)
    assert flow_health(look) == Health(
        "STOPPED",
        healthy=True,
        reason="stopped by ann@ops; continue with `isthmus resume FILE --flow A:B`",
    )


@pytest.mark.parametrize(
    ("partitions", "anchors", "reason"),
    [
        pytest.param(0, (), "its topics are planned", id="no plan yet"),
        pytest.param(0, COPIED, "its topics are planned", id="no plan yet, copied before"),
        pytest.param(4, (), "its units begin 4 partitions", id="no unit has begun"),
        pytest.param(
            4, (anchor("SOURCE_DELETED"),), "its units begin 4 partitions", id="of gone topics only"
        ),
        pytest.param(4, (anchor("WAITING"),) * 4, "its units begin 4 partitions", id="claimed"),
    ],
)
def test_a_driver_that_copies_no_partition_yet_is_starting_however_long(
    partitions, anchors, reason
):
    young = status(partitions=partitions, started_ms=NOW - START_MS + 1)
    assert flow_health(seen(status=young, anchors=anchors)) == Health(
        "STARTING", healthy=False, reason=reason
    )
    old = replace(young, started_ms=NOW - 97_500)
    assert flow_health(seen(status=old, anchors=anchors)) == Health(
        "STARTING",
        healthy=False,
        reason=f"{reason}, more than 60 s after the driver's start: see `isthmus logs FILE`",
    )
    later = seen(status=replace(old, started_ms=NOW - 98_500), anchors=anchors)
    assert flow_health(later) == flow_health(seen(status=old, anchors=anchors)), "told once"


def test_a_driver_that_copies_a_partition_has_started():
    assert flow_health(seen(status=status(started_ms=NOW - 100))).state == "RUNNING"


def test_a_start_that_does_not_become_ready_ends_in_the_state_that_the_driver_says():
    ended = status("DEGRADED", not_running=4, reason="B: not authorized", started_ms=NOW - 200_000)
    assert flow_health(seen(status=ended, anchors=())) == Health(
        "DEGRADED", healthy=False, reason="B: not authorized"
    )


def test_a_partition_that_was_only_claimed_yet_does_not_degrade_a_flow_that_starts():
    young = status(started_ms=NOW - 100)
    claimed = (anchor("RUNNING"), anchor("WAITING", at_ms=NOW))
    assert flow_health(seen(status=young, anchors=claimed)).state == "STARTING"
    old = status(started_ms=NOW - START_MS)
    assert flow_health(seen(status=old, anchors=claimed)).state == "DEGRADED"


def test_a_pattern_that_matches_nothing_is_said_at_once():
    young = status(partitions=0, started_ms=NOW - 100, reason="no topic of A matches x")
    assert flow_health(seen(status=young)).reason == "copies nothing: no topic of A matches x"


@pytest.mark.parametrize(
    ("driver", "ago_ms", "state"),
    [(True, 20_000, "STARTING"), (False, 20_000, "DEAD"), (True, START_MS, "DEAD")],
)
def test_a_driver_that_waits_for_spark_is_starting_and_not_dead(driver, ago_ms, state):
    look = seen(driver=driver, status=status("STARTING", beat_ms=NOW - ago_ms))
    assert flow_health(look).state == state


def test_a_driver_that_starts_again_for_an_edited_file_is_not_dead():
    ended = status("STARTING", beat_ms=NOW - 5_000, reason="an edit", starts_again=True)
    health = flow_health(seen(driver=False, status=ended))
    assert (health.state, health.reason) == ("STARTING", "an edit")
    late = replace(ended, beat_ms=NOW - START_MS)
    assert flow_health(seen(driver=False, status=late)).state == "DEAD"


@pytest.mark.parametrize("state", ["SOURCE_DELETED", "SOURCE_DENIED", "NOT_SELECTED"])
def test_of_a_topic_that_is_gone_the_drivers_status_says_whether_it_matters(state):
    gone = (anchor(state, "its copy is kept", at_ms=NOW, generation=0), *COPIED)
    assert flow_health(seen(anchors=gone)).healthy
    output = status("DEGRADED", reason="deleted at the source: orders")
    assert flow_health(seen(status=output, anchors=gone)) == Health(
        "DEGRADED", healthy=False, reason="deleted at the source: orders"
    )
    ended = seen(status=status("DEGRADED", not_running=1), anchors=gone)
    assert flow_health(ended).healthy, "that figure is of the epoch in which it was deleted"


def test_bl_226_a_damaged_batch_is_not_well_and_the_choice_is_named():
    reason = "the source's offsets [150, 160) are damaged: the checksum does not match"
    look = seen(anchors=(anchor("SOURCE_CORRUPT", reason, at_ms=NOW),))
    assert flow_health(look) == Health(
        "DEGRADED",
        healthy=False,
        reason=f"orders-3 is SOURCE_CORRUPT: {reason}; choose with `isthmus resolve FILE`: skip",
    )


def batch(run: BatchRun | None = None, **rest: object) -> FlowObservation:
    return seen(is_batch=True, run=run, **{"driver": False, "status": status("STOPPED"), **rest})


RAN = BatchRun("A->B", 3, NOW - 90_000, NOW - 60_000, 1234)


@pytest.mark.parametrize(
    ("look", "state", "reason"),
    [
        pytest.param(batch(status=None), "IDLE", "a batch flow that has not run yet", id="new"),
        pytest.param(
            batch(RAN),
            "IDLE",
            "a batch flow; its last run ended 60 s ago: 1,234 records in 30 s",
            id="between runs",
        ),
        pytest.param(
            batch(RAN, status=status("STARTING"), driver=True),
            "STARTING",
            "the driver is starting",
            id="a run begins",
        ),
        pytest.param(
            batch(RAN, status=status("STOPPING", reason="ending the epoch"), driver=True),
            "STOPPING",
            "ending the epoch",
            id="a run ends",
        ),
        pytest.param(batch(RAN, status=status(), driver=True), "RUNNING", "4 partitions", id="run"),
        pytest.param(
            batch(RAN, desired=Desired.PAUSE, desired_by="me"),
            "PAUSED",
            "paused by me; continue with `isthmus resume FILE --flow A:B`",
            id="paused",
        ),
    ],
)
def test_a_batch_flow_is_well_without_a_driver(look, state, reason):
    assert flow_health(look) == Health(state, healthy=True, reason=reason)


@pytest.mark.parametrize(
    ("look", "state", "reason"),
    [
        pytest.param(
            batch(RAN, status=status(beat_ms=NOW - 70_000)),
            "FAILED",
            "its last run was cut off 70 s ago; the next run continues where that ended",
            id="killed",
        ),
        pytest.param(
            batch(replace(RAN, problem="orders-0: LOST_RANGE", good_ms=NOW - 100_000)),
            "FAILED",
            "its last run ended 60 s ago and did not copy all: orders-0: LOST_RANGE; the last one "
            "that did ended 100 s ago",
            id="not all",
        ),
        pytest.param(
            batch(RAN, status=status(not_running=1, state="DEGRADED", reason="x"), driver=True),
            "DEGRADED",
            "x",
            id="a partition is halted",
        ),
    ],
)
def test_a_batch_flow_whose_run_did_not_copy_all_is_not_well(look, state, reason):
    assert flow_health(look) == Health(state, healthy=False, reason=reason)


@pytest.mark.parametrize(
    ("run", "healthy"),
    [
        (None, False),
        (replace(RAN, good_ms=NOW - 59_000), True),
        (replace(RAN, good_ms=NOW - 61_000), False),
    ],
)
def test_a_batch_flow_whose_last_good_run_is_too_old_is_not_well(run, healthy):
    health = flow_health(batch(run, batch_max_age=timedelta(seconds=60)))
    assert (health.state, health.healthy) == ("IDLE", healthy)
    assert ("batch.max.age is 1m" in health.reason) is (run is None)
    too_old = "longer ago than batch.max.age = 1m" in health.reason
    assert too_old is (run is not None and not healthy)


def test_every_state_of_partitions_is_named_beside_what_the_driver_says():
    gone = "deleted at the source: carts; what was copied is kept"
    waits, halted = anchor("WAITING", "no leader"), anchor("TARGET_RESET", "it was recreated")
    other = replace(anchor("REFUSED"), topic="stock")
    look = seen(
        status=status("DEGRADED", not_running=3, reason=gone), anchors=(waits, halted, other)
    )
    assert flow_health(look).reason == (
        f"{gone}; orders-3 is TARGET_RESET: it was recreated; choose with `isthmus resolve FILE`: "
        "continue or reseed; REFUSED: stock; WAITING: orders"
    )
