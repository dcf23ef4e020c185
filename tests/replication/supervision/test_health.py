import pytest

from replication.model import Desired
from replication.state import Anchor, FlowStatus
from replication.supervision.health import BEAT_STALE_MS, START_MS, Health, Seen, flow_health

NOW = 1_000_000


def status(state: str = "RUNNING", **rest: object) -> FlowStatus:
    values = {"host": "here", "pid": 7, "beat_ms": NOW - 500, "partitions": 4, **rest}
    return FlowStatus("A->B", state, **values)


def seen(**rest: object) -> Seen:
    return Seen("A->B", "here", NOW, **{"status": status(), "driver": True, **rest})


def anchor(state: str, reason: str = "", **rest: object) -> Anchor:
    return Anchor("A->B", "orders", 3, "A.orders", 1, 1, state=state, reason=reason, **rest)


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
            seen(status=status(partitions=0)),
            "RUNNING",
            "copies nothing: no topic of A matches the flow's patterns",
            id="no topic matches",
        ),
        pytest.param(
            seen(status=status(partitions=0, reason="A shows no topics at all")),
            "RUNNING",
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
            "orders-3 is REFUSED: record of 9 MB is too large; choose with `isthmus resolve`: skip",
            id="one partition is not copied",
        ),
        pytest.param(
            seen(driver=False),
            "DEAD",
            "no driver: last status 0 s ago (process 7 on here, RUNNING)",
            id="the driver was killed a moment ago",
        ),
        pytest.param(
            seen(status=status(beat_ms=NOW - BEAT_STALE_MS, reason="out of memory")),
            "DEAD",
            "no driver: last status 15 s ago (process 7 on here, RUNNING); "
            "last reason: out of memory",
            id="the driver hangs",
        ),
        pytest.param(
            seen(status=None, driver=False),
            "STARTING",
            "the driver was never started",
            id="never started",
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
        "start it with `isthmus run`"
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
        "STOPPED", healthy=True, reason="stopped by ann@ops; continue with `isthmus resume`"
    )


@pytest.mark.parametrize(
    ("partitions", "reason"),
    [(0, "its topics are planned"), (4, "its units begin 4 partitions")],
)
def test_a_driver_that_copies_no_partition_yet_is_starting(partitions, reason):
    young = status(partitions=partitions, started_ms=NOW - START_MS + 1)
    assert flow_health(seen(status=young)) == Health("STARTING", healthy=False, reason=reason)
    assert flow_health(seen(status=young, anchors=(anchor("RUNNING"),))).state == (
        "RUNNING" if partitions else "STARTING"
    )
    old = status(partitions=partitions, started_ms=NOW - START_MS)
    assert flow_health(seen(status=old)).state == "RUNNING"


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


@pytest.mark.parametrize("state", ["SOURCE_DELETED", "SOURCE_DENIED", "NOT_SELECTED"])
def test_of_a_topic_that_is_gone_the_drivers_status_says_whether_it_matters(state):
    gone = anchor(state, "its copy is kept", at_ms=NOW, generation=0)
    assert flow_health(seen(anchors=(gone,))).healthy
    told = status("DEGRADED", reason="deleted at the source: orders")
    assert flow_health(seen(status=told, anchors=(gone,))) == Health(
        "DEGRADED", healthy=False, reason="deleted at the source: orders"
    )
    ended = seen(status=status("DEGRADED", not_running=1), anchors=(gone,))
    assert flow_health(ended).healthy, "that figure is of the epoch in which it was deleted"


def test_bl_226_a_damaged_batch_is_not_well_and_the_choice_is_named():
    reason = "the source's offsets [150, 160) are damaged: the checksum does not match"
    look = seen(anchors=(anchor("SOURCE_CORRUPT", reason, at_ms=NOW),))
    assert flow_health(look) == Health(
        "DEGRADED",
        healthy=False,
        reason=f"orders-3 is SOURCE_CORRUPT: {reason}; choose with `isthmus resolve`: skip",
    )
