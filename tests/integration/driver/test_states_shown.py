"""Every state, provoked as it happens: status, metrics, checks, alerts and report say the same."""

from __future__ import annotations

import functools
import math
import os
import signal
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.brokers.secured_broker import Guarded
from support.network.webhook import a_hook
from support.states import states_page
from support.states.five_views import VIEWS, FiveViews, flow_state, partition_state
from support.states.state_stage import STATES, StateStage

from replication.model import NEEDS_NO_ACTION, Desired, FlowState, PartitionState

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1500)]

# Until a flow is in a state the machine may be busy with other tests; that all views say so soon
# after the first one, within 30 s of a machine's own, has four times the time.
COME_S, AGREE_S = 240.0, 120.0
AGAIN_S = 20.0  # once a view was late: the others of its states do not take the whole time
COMPACTS = {"log.cleaner.backoff.ms": "200"}
SHOWN = states_page.of_flows()
QUIET = {each for each, row in SHOWN.items() if not row.is_told}
OTHERS = {"twin->B": "FAILED", "wrong->B": "WRONG_CLUSTER", "late->B": "IDLE"}
Took = dict[str, float | None]  # s, by view; None: it did not say so in time


class Story:
    """What happens to the flows one after the other, and how soon each view says so."""

    def __init__(self, stage: StateStage, views: FiveViews) -> None:
        self.stage, self.views = stage, views
        self.flow = stage.app.flow
        self.took: dict[str, Took] = {}
        self.agree_s = AGREE_S
        self.ran: dict[str, tuple[bool, str]] = {}  # the checks, by somebody who presses a button
        self.alerts: tuple[dict[str, Any], ...] = ()

    def tell(self) -> None:
        app, since = self.stage.app, time.monotonic()
        app.start()
        self.await_flow("STARTING", since)
        app.await_state(FlowState.RUNNING)
        since = time.monotonic()
        self.await_flow("RUNNING", since)
        since = time.monotonic()  # these were in their states before
        for flow, state in OTHERS.items():
            self.await_flow(state, since, flow)
        self.stage.await_copied()
        self.stop()
        since = self.ask(Desired.PAUSE)
        self.await_flow("PAUSED", since)
        self.await_partition("corrupt", PartitionState.PAUSED, since)  # of the first that are named
        self.stage.provoke()
        since = self.ask(Desired.RUN)
        self.await_flow("DEGRADED", since)
        for name, state in STATES.items():
            if name != "foreign":
                self.await_partition(name, state, since)
        self.stage.write_beside()  # now that no new plan ends the epoch between two appends
        self.await_partition("foreign", PartitionState.TARGET_FOREIGN, time.monotonic())
        self.ran = self.views.run_checks(self.flow)
        since = time.monotonic()
        os.killpg(app.drivers[-1].pid, signal.SIGKILL)
        self.await_flow("DEAD", since)

    def stop(self) -> None:
        """Stop the flow while the processes that copy hang: else it is over in a moment."""
        units = self.stage.units()
        for each in units:
            each.suspend()
        since = self.ask(Desired.STOP)
        self.await_flow("STOPPING", since)
        for each in units:
            each.resume()
        self.await_flow("STOPPED", since)

    def ask(self, desired: Desired) -> float:
        self.stage.app.ask(desired)
        return time.monotonic()

    def await_flow(self, state: str, since: float, flow: str = "") -> None:
        of = flow or self.flow
        output = {"metric": {"DEAD": "up == 0", "IDLE": ""}.get(state, state)}
        self._await(
            state,
            since,
            lambda view, answer: flow_state(view, of, answer) == output.get(view, state),
            is_told=state not in QUIET,
        )

    def await_partition(self, name: str, state: str, since: float) -> None:
        topic = self.stage.topics[name]
        nothing = {"metric"} if state in NEEDS_NO_ACTION else set()
        if state == PartitionState.RUNNING:
            nothing |= {"check", "report"}
        self._await(
            f"partition {state}",
            since,
            lambda view, answer: (
                partition_state(view, self.flow, topic, answer)
                == ("" if view in nothing else state)
            ),
            is_told=state not in NEEDS_NO_ACTION,
        )

    def _await(
        self, of: str, since: float, is_so: Callable[[str, Any], bool], *, is_told: bool
    ) -> None:
        asked = {
            view: functools.partial(is_so, view) for view in VIEWS if view != "alert" or is_told
        }
        took = self.took[of] = self.views.seconds_until(since, asked, COME_S, self.agree_s)
        late = [view for view, seconds in took.items() if seconds is None]
        for view in late:
            sys.stdout.write(f"{of}: {view} said {self.views.last(view)}\n")
            self.agree_s = AGAIN_S
        shown = "  ".join(f"{view} {each or math.nan:.1f} s" for view, each in took.items())
        sys.stdout.write(f"{of}: {shown}\n")
        assert len(late) < len(took), f"{of}: no view said so, and what comes next needs it"


@pytest.fixture(scope="module")
def story(kafka_cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("states")
    source, target = Guarded("states", folder), kafka_cluster("states-target", properties=COMPACTS)
    try:
        with a_hook() as hook:
            stage = StateStage(source, target, folder / "app", hook)
            with closing(stage.app), closing(FiveViews(stage.app, hook)) as views:
                views.start()
                reported = Story(stage, views)
                reported.tell()
                reported.alerts = tuple(hook.got)
            yield reported
    finally:
        source.cluster.destroy()


OF_FLOWS = [*map(str, FlowState), "DEAD", "IDLE"]
OF_PARTITIONS = [f"partition {each}" for each in PartitionState]


@pytest.mark.parametrize("state", [*OF_FLOWS, *OF_PARTITIONS])
def test_all_views_say_the_state_soon_after_the_first(story, state):
    late = {view: took for view, took in story.took[state].items() if took is None}
    assert late == {}, "these views did not say so"


def test_nobody_is_alerted_of_what_somebody_asked_for(story):
    reported = [each for each in story.alerts if each["kind"] == "check_failed"]
    assert {each["state"] for each in reported}.isdisjoint(QUIET)
    named = "\n".join(line for each in reported for line in each["halted"])
    assert story.stage.topics["unselected"] not in named
    assert "PAUSED" not in named


def test_checks_that_somebody_runs_say_what_the_supervisor_stored(story):
    passed, reason = story.ran["healthy"]
    assert (passed, reason.partition(":")[0]) == (False, "DEGRADED")
    passed, reason = story.ran["all_topics_copied"]
    odd = {each for each in STATES.values() if each != PartitionState.RUNNING}
    assert not passed
    assert odd == {each for each in PartitionState if f"{each}: " in reason}
