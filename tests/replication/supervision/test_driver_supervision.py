from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.settings.configs import a_config, a_flow

from replication.model import Desired
from replication.settings.metrics_settings import MetricsSettings
from replication.state import FlowStatus
from replication.supervision.driver_supervision import (
    FIRST_BACKOFF_MS,
    FOREIGN_STALE_MS,
    LONGEST_BACKOFF_MS,
    SILENT_MS,
    Application,
    AppMemory,
    Decision,
    Launch,
    Leave,
    Observed,
    Stop,
    SupervisionMemory,
    Wait,
    applications,
    backoff_ms,
    decide,
    metrics_port,
)

APP = Application("B", "B", ("A->B", "C->B"))
NOW = 1_700_000_000_000


def beat(at_ms: int = NOW, host: str = "here", **rest: object) -> FlowStatus:
    return FlowStatus("A->B", host=host, pid=7, beat_ms=at_ms, **rest)


def look(**rest: object) -> Observed:
    return Observed("here", **rest)


def once(
    seen: Observed, known: AppMemory | None = None, now_ms: int = NOW
) -> tuple[Decision, AppMemory]:
    memory = SupervisionMemory(1, {} if known is None else {"B": known})
    (decision,), memory = decide((APP,), {"B": seen}, memory, now_ms)
    return decision, memory.apps["B"]


def test_what_has_not_reported_yet_is_launched_at_once():
    decision, known = once(look())
    assert decision == Launch(APP, "no driver has reported yet", "B:1:1")
    assert (known.launches, known.failures, known.launched_ms) == (1, 1, NOW)


def test_a_dead_driver_of_this_host_is_replaced_at_once():
    decision, _ = once(look(statuses=(beat(NOW - 1000),)))
    assert decision == Launch(APP, "the driver has exited", "B:1:1")


def test_what_runs_is_left_alone():
    """BL-130."""
    assert once(look(watcher=True, driver=True, statuses=(beat(),)))[0] == Leave(APP, "up")


def test_the_watcher_is_trusted_with_its_driver():
    decision, _ = once(look(watcher=True, statuses=(beat(),)))
    assert decision == Leave(APP, "the watcher is restarting the driver")


def test_a_driver_without_a_watcher_is_not_disturbed():
    decision, _ = once(look(driver=True, statuses=(beat(),)))
    assert decision == Leave(APP, "running without a watcher until the driver exits")


def test_a_silent_target_is_no_dead_driver():
    silent = look(silence="target B gave no answer")
    assert once(silent)[0] == Wait(
        APP, "target B gave no answer; another host may be copying, so no driver is launched"
    )
    assert once(replace(silent, watcher=True, driver=True))[0] == Wait(
        APP, "target B gave no answer; the driver is not changed"
    )


def test_an_application_that_is_being_launched_is_not_launched_again():
    assert once(look(launching=True))[0] == Leave(APP, "a driver is being launched")


def test_only_when_no_flow_is_wanted_the_application_ends():
    one = {"A->B": Desired.STOP}
    both = {**one, "C->B": Desired.STOP}
    up = look(watcher=True, driver=True, statuses=(beat(),), intents=one)
    assert once(up)[0] == Leave(APP, "up")
    assert once(replace(up, intents=both))[0] == Stop(
        APP, "all its flows have desired state STOPPED", "B:1:1"
    )
    assert once(look(intents=both))[0] == Leave(APP, "stopped, matches desired state")


def test_a_paused_flow_keeps_its_application():
    paused = {"A->B": Desired.PAUSE, "C->B": Desired.STOP}
    assert isinstance(once(look(intents=paused))[0], Launch)


def test_launches_that_lead_to_nothing_come_ever_more_seldom():
    known, at_ms, gaps = None, NOW, []
    for _ in range(5):
        decision, known = once(look(), known, at_ms)
        assert isinstance(decision, Launch)
        launched = at_ms
        while not isinstance(once(look(), known, at_ms)[0], Launch):
            at_ms += 1000
        gaps.append((at_ms - launched) // 1000)
    assert gaps == [5, 10, 20, 40, 80]


def test_a_wait_says_how_long_and_why():
    decision, _ = once(look(), AppMemory(launches=3, failures=3, launched_ms=NOW - 1_500))
    assert decision == Wait(
        APP,
        "no driver has reported yet; 3 launches failed (see `isthmus logs FILE`), next try in 19 s",
    )


def test_a_beat_that_changes_ends_the_back_off():
    known = AppMemory(launches=9, failures=9, launched_ms=NOW - 1000, beat_ms=NOW - 9000)
    _, known = once(look(watcher=True, driver=True, statuses=(beat(),)), known)
    assert known.failures == 0
    decision, _ = once(look(statuses=(beat(),)), known, NOW + 1000)
    assert isinstance(decision, Launch)


def test_a_driver_that_hangs_is_restarted_and_one_that_starts_is_not():
    hung = look(watcher=True, driver=True, statuses=(beat(NOW - SILENT_MS),))
    known = AppMemory(beat_ms=NOW - SILENT_MS, changed_ms=NOW - SILENT_MS - 1)
    decision, _ = once(hung, known)
    assert decision == Launch(
        APP, "the driver is alive but wrote no status for 90 s", "B:1:1", restart=True
    )
    assert once(hung, replace(known, launched_ms=NOW - 1000))[0] == Leave(APP, "up")


def test_without_memory_no_driver_is_taken_for_hung():
    hung = look(watcher=True, driver=True, statuses=(beat(NOW - 10 * SILENT_MS),))
    assert once(hung)[0] == Leave(APP, "up")


def test_a_driver_on_another_host_is_judged_by_changes_and_not_by_its_clock():
    wrong_clock = NOW - 3_600_000
    there = look(statuses=(beat(wrong_clock, "there"),))
    known = AppMemory(beat_ms=wrong_clock - 1000, changed_ms=NOW - 5_000)
    decision, known = once(there, known)
    assert decision == Leave(APP, "up on there, process 7")
    decision, _ = once(there, known, NOW + FOREIGN_STALE_MS)
    assert decision == Launch(APP, "the driver has exited", "B:1:1")


def test_a_fresh_beat_of_another_host_is_given_time_to_change():
    there = look(statuses=(beat(NOW - 1000, "there"),))
    assert once(there)[0] == Leave(APP, "checking whether there still copies")
    stopped = look(statuses=(beat(NOW - 1000, "there", state="STOPPED"),))
    assert isinstance(once(stopped)[0], Launch)


def test_memory_survives_its_text_and_a_lost_one_makes_new_run_keys():
    """BL-128."""
    (first,), memory = decide((APP,), {"B": look()}, SupervisionMemory.parse(None, 1), NOW)
    assert SupervisionMemory.parse(memory.dump(), 99) == memory
    (second,), _ = decide((APP,), {"B": look()}, SupervisionMemory.parse("garbage", 2), NOW)
    assert (first.run_key, second.run_key) == ("B:1:1", "B:2:1")


def test_applications_are_one_a_target_or_one_a_flow():
    flows = (a_flow("A", "B"), a_flow("C", "B"), a_flow("B", "A"))
    assert applications(a_config(*flows)) == (
        Application("A", "A", ("B->A",)),
        Application("B", "B", ("A->B", "C->B")),
    )
    per_flow = applications(a_config(*flows, application="per-flow"))
    assert [each.name for each in per_flow] == ["A->B", "B->A", "C->B"]


@pytest.mark.parametrize("failures", [1, 2, 5, 50, 5000])
def test_back_off_stays_between_its_limits(failures):
    assert FIRST_BACKOFF_MS <= backoff_ms(failures) <= LONGEST_BACKOFF_MS


looks = st.builds(
    Observed,
    host=st.just("here"),
    watcher=st.booleans(),
    driver=st.booleans(),
    silence=st.one_of(st.none(), st.just("target B gave no answer")),
    statuses=st.lists(
        st.builds(
            beat, st.integers(NOW - 100_000, NOW + 100_000), st.sampled_from(["here", "there"])
        ),
        max_size=2,
    ).map(tuple),
    intents=st.dictionaries(st.sampled_from(APP.flows), st.sampled_from(list(Desired))),
    launching=st.booleans(),
)


@given(st.lists(st.tuples(looks, st.integers(0, 100_000)), max_size=20))
def test_however_the_world_looks_no_run_key_comes_twice_and_nothing_is_launched_blindly(ticks):
    """BL-128."""
    memory, now_ms, keys = SupervisionMemory(1), NOW, []
    for seen, later_ms in ticks:
        now_ms += later_ms
        (decision,), memory = decide((APP,), {"B": seen}, memory, now_ms)
        if isinstance(decision, Launch | Stop):
            keys.append(decision.run_key)
            assert not seen.launching
        if isinstance(decision, Launch):
            assert seen.silence is None
            assert decision.restart == seen.driver
    assert len(keys) == len(set(keys))


@given(st.lists(looks, min_size=1, max_size=10))
def test_losing_the_memory_never_raises_and_never_keeps_a_dead_application_down(history):
    memory = SupervisionMemory(1)
    for seen in history:
        _, memory = decide((APP,), {"B": seen}, memory, NOW)
    (decision,), _ = decide((APP,), {"B": look()}, SupervisionMemory.parse(None, NOW), NOW)
    assert isinstance(decision, Launch)


def test_each_application_of_a_file_has_a_metrics_port_of_its_own():
    flows = [a_flow("A", "B"), a_flow("B", "A"), a_flow("C", "B")]
    ports = {
        first: [metrics_port(config, each.name) for each in applications(config)]
        for first in (9404, 0, None)
        for config in [a_config(*flows).model_copy(update={"metrics": MetricsSettings(port=first)})]
    }
    assert ports == {9404: [9404, 9405], 0: [0, 0], None: [None, None]}


def test_a_batch_flow_has_an_application_of_its_own_which_nobody_keeps_running():
    config = a_config(a_flow("A", "B"), a_flow("C", "B").model_copy(update={"mode": "batch"}))
    stream, batch = applications(config)
    assert (stream.name, stream.flows) == ("B", ("A->B",))
    assert (batch.name, batch.target, batch.flows, batch.is_batch) == ("C->B", "B", ("C->B",), True)
    (decision,), _ = decide((batch,), {"C->B": look()}, SupervisionMemory(1), NOW)
    assert decision == Leave(batch, "a batch flow: it is not kept running")


HOURS_MS = 7_200_000


def test_a_clock_that_was_ahead_at_the_launch_puts_no_later_launch_off():
    _, known = once(look(), now_ms=NOW + HOURS_MS)
    decision, known = once(look(), known)
    assert decision == Wait(
        APP,
        "no driver has reported yet; 1 launches failed (see `isthmus logs FILE`), next try in 5 s",
    )
    decision, _ = once(look(), known, NOW + FIRST_BACKOFF_MS)
    assert isinstance(decision, Launch)


def test_a_driver_that_hangs_is_found_though_the_clock_was_ahead():
    alive = {"watcher": True, "driver": True}
    _, known = once(look(**alive, statuses=(beat(NOW - 1000),)), now_ms=NOW + HOURS_MS)
    _, known = once(look(**alive, statuses=(beat(NOW),)), known, NOW + HOURS_MS + 1000)
    _, known = once(look(**alive, statuses=(beat(NOW),)), known, NOW)
    decision, _ = once(look(**alive, statuses=(beat(NOW),)), known, NOW + SILENT_MS + 1)
    assert isinstance(decision, Launch)
    assert decision.restart


def test_a_beat_of_another_host_whose_clock_is_ahead_is_waited_for_no_longer_than_any_other():
    ahead = look(statuses=(beat(NOW + HOURS_MS, host="there"),))
    decision, known = once(ahead)
    assert decision == Leave(APP, "checking whether there still copies")
    decision, _ = once(ahead, known, NOW + FOREIGN_STALE_MS)
    assert isinstance(decision, Launch)
