import pytest

from replication.model import Desired, FlowState
from spark_jobs.driver.flow.flow_states import DriverStep, Situation, decide_step, flow_state

COPYING = {"planned": True, "partitions": 4, "query": True, "alive": True, "begun": True}
READY = {"planned": True, "partitions": 4}


@pytest.mark.parametrize(
    ("now", "step"),
    [
        pytest.param({}, DriverStep.NOTHING, id="nothing is known yet"),
        pytest.param(READY, DriverStep.START, id="ready"),
        pytest.param(
            {**COPYING, "hands_over": True}, DriverStep.DRAIN, id="another number of units"
        ),
        pytest.param({**READY, "rested": False}, DriverStep.NOTHING, id="resting after a failure"),
        pytest.param({**READY, "slot_shortage": "slots"}, DriverStep.NOTHING, id="too few slots"),
        pytest.param({**READY, "ending": True}, DriverStep.NOTHING, id="the driver ends"),
        pytest.param({**READY, "desired": Desired.PAUSE}, DriverStep.NOTHING, id="paused"),
        pytest.param({**READY, "unplanned": "down"}, DriverStep.START, id="a plan from before"),
        pytest.param(COPYING, DriverStep.NOTHING, id="copying"),
        pytest.param({**COPYING, "alive": False}, DriverStep.STOP, id="the query died"),
        pytest.param({**COPYING, "desired": Desired.PAUSE}, DriverStep.DRAIN, id="to be paused"),
        pytest.param(
            {**COPYING, "ending": True, "draining": True}, DriverStep.DRAIN, id="draining"
        ),
        pytest.param(
            {**COPYING, "ending": True, "draining": True, "idle": True},
            DriverStep.STOP,
            id="drained",
        ),
        pytest.param(
            {**COPYING, "ending": True, "draining": True, "overdue": True},
            DriverStep.STOP,
            id="overdue",
        ),
        pytest.param({**COPYING, "draining": True}, DriverStep.DRAIN, id="resumed while it drains"),
        pytest.param(
            {**COPYING, "wrong_cluster": "A is B"}, DriverStep.DRAIN, id="BL-223: A is B now"
        ),
        pytest.param({**READY, "wrong_cluster": "A is B"}, DriverStep.NOTHING, id="BL-223: still"),
    ],
)
def test_the_next_step(now, step):
    assert decide_step(Situation(**now)) is step


@pytest.mark.parametrize(
    ("now", "state", "reason"),
    [
        pytest.param({}, FlowState.STARTING, "reading both clusters", id="new"),
        pytest.param(READY, FlowState.STARTING, "starting Spark", id="planned"),
        pytest.param(COPYING, FlowState.RUNNING, "", id="copying"),
        pytest.param(
            {**COPYING, "wrong_cluster": "A is B"},
            FlowState.WRONG_CLUSTER,
            "A is B",
            id="BL-223: its query ends",
        ),
        pytest.param(
            {**READY, "wrong_cluster": "A is B", "desired": Desired.PAUSE},
            FlowState.PAUSED,
            "paused by an operator; resume the flow to continue",
            id="BL-223: paused all the same",
        ),
        pytest.param({**COPYING, "problem": "old"}, FlowState.RUNNING, "", id="recovered"),
        pytest.param(
            {**COPYING, "not_running": 1, "problem": "orders-1: too large"},
            FlowState.DEGRADED,
            "orders-1: too large",
            id="one partition is halted",
        ),
        pytest.param(
            {**COPYING, "unplanned": "A is down"}, FlowState.DEGRADED, "A is down", id="no source"
        ),
        pytest.param(
            {**COPYING, "gone": "deleted at the source: orders", "gap": "none matches x"},
            FlowState.DEGRADED,
            "deleted at the source: orders",
            id="a topic is gone",
        ),
        pytest.param(
            {**COPYING, "not_running": 1, "problem": "too large", "gone": "deleted: orders"},
            FlowState.DEGRADED,
            "too large; deleted: orders",
            id="a partition is halted and a topic is gone",
        ),
        pytest.param(
            {**COPYING, "begun": False, "partitions": 0, "gone": "deleted: orders", "gap": "none"},
            FlowState.DEGRADED,
            "deleted: orders",
            id="all topics are gone",
        ),
        pytest.param({"unplanned": "A is down"}, FlowState.FAILED, "A is down", id="never planned"),
        pytest.param(
            {**READY, "slot_shortage": "slots"}, FlowState.FAILED, "slots", id="too few slots"
        ),
        pytest.param(
            {**COPYING, "begun": False, "partitions": 0, "gap": "0 of 3 topics match x"},
            FlowState.DEGRADED,
            "0 of 3 topics match x",
            id="nothing to copy",
        ),
        pytest.param(
            {**COPYING, "begun": False, "partitions": 0},
            FlowState.STARTING,
            "the target has none of the topics yet",
            id="the topics are being created",
        ),
        pytest.param(
            {**COPYING, "partitions": 0},
            FlowState.STARTING,
            "the target has none of the topics yet",
            id="the last topic has gone",
        ),
        pytest.param(
            {**COPYING, "partitions": 0, "at_risk": "topic x loses state"},
            FlowState.DEGRADED,
            "topic x loses state",
            id="nothing to copy, and the policy of a state topic was changed",
        ),
        pytest.param(
            {**COPYING, "slot_shortage": "lost executors", "problem": "old"},
            FlowState.DEGRADED,
            "lost executors",
            id="its units wait for slots",
        ),
        pytest.param(
            {**COPYING, "gap": "no topic matches later yet"},
            FlowState.RUNNING,
            "no topic matches later yet",
            id="one topic is not there yet",
        ),
        pytest.param(
            {**COPYING, "ending": True}, FlowState.STOPPING, "ending the epoch", id="ending"
        ),
        pytest.param({"ending": True}, FlowState.STOPPED, "", id="ended"),
        *(
            pytest.param(
                {**READY, **unwanted, "transforming": True},
                FlowState.STOPPING,
                "ending the batches of its transforms",
                id=f"a batch may still commit: {unwanted}",
            )
            for unwanted in (
                {"desired": Desired.PAUSE},
                {"desired": Desired.STOP},
                {"ending": True},
            )
        ),
        pytest.param(
            {**READY, "desired": Desired.PAUSE},
            FlowState.PAUSED,
            "paused by an operator; resume the flow to continue",
            id="paused",
        ),
        pytest.param(
            {**READY, "desired": Desired.PAUSE, "is_desired_lost": True},
            FlowState.PAUSED,
            "the status topic has lost its desired state, so it stays paused: start it with "
            "`isthmus resume FILE`",
            id="whether it was paused is gone",
        ),
        pytest.param(
            {**COPYING, "at_risk": "topic x loses state"},
            FlowState.DEGRADED,
            "topic x loses state",
            id="the policy of a state topic was changed",
        ),
        pytest.param({**READY, "desired": Desired.STOP}, FlowState.STOPPED, "", id="stopped"),
        pytest.param(
            {"desired": Desired.PAUSE, "ending": True}, FlowState.STOPPED, "", id="paused, ended"
        ),
    ],
)
def test_the_state_that_an_operator_sees(now, state, reason):
    assert flow_state(Situation(**now)) == (state, reason)


def test_a_driver_that_starts_again_for_an_edit_says_so_and_keeps_a_pause():
    ends = {"ending": True, "restart": "the file was edited: metrics.*"}
    assert flow_state(Situation(**ends)) == (
        FlowState.STARTING,
        "the driver starts again: the file was edited: metrics.*",
    )
    assert flow_state(Situation(**ends, desired=Desired.PAUSE))[0] is FlowState.PAUSED
    assert flow_state(Situation(**ends, desired=Desired.STOP))[0] is FlowState.STOPPED
    assert flow_state(Situation(**{**COPYING, **ends}))[0] is FlowState.STOPPING
