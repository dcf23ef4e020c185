"""Alerts: on transitions only, to a real HTTP server."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test
from support.builders import a_config
from support.fake_flows import FakeIsthmus, World

from orchestration.dagster.alert_sensors import (
    _failures_in_a_row,
    alert_on_checks,
    alert_on_failed_runs,
)
from orchestration.dagster.alerts import Alert, is_worth_an_alert, post
from orchestration.dagster.assets import stream_key
from orchestration.dagster.sensors import APPLICATION_TAG
from replication.errors import ConfigError, EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

ALERT = Alert("check_failed", "A->B", "A->B is late", 7)


class Hook:
    """A webhook; ``answer`` is the status that it gives next."""

    def __init__(self) -> None:
        self.got: list[dict] = []
        self.answer = 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if hook.answer == 200:
                    hook.got.append(json.loads(body))
                self.send_response(hook.answer)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/secret-path"


@pytest.fixture
def hook() -> Iterator[Hook]:
    found = Hook()
    thread = threading.Thread(target=found.server.serve_forever, args=(0.02,))
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as found:
        yield found


def evaluate(instance: dg.DagsterInstance, *, passed: bool) -> None:
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(
            stream_key("A->B"), "lag_sla", passed, description="as the test says"
        )
    )


def tick(instance: dg.DagsterInstance, hook: Hook, cursor: str | None) -> dg.SensorResult:
    isthmus = FakeIsthmus.of(World(a_config(webhook_url=hook.url)))
    with dg.build_sensor_context(
        instance=instance, resources={"isthmus": isthmus}, cursor=cursor
    ) as context:
        return alert_on_checks(context)


def test_an_alert_is_posted_as_json(hook):
    post(ALERT, hook.url)
    assert hook.got == [
        {
            "kind": "check_failed",
            "subject": "A->B",
            "text": "A->B is late",
            "at_ms": 7,
            "source": "isthmus",
        }
    ]


def test_a_post_that_is_refused_raises_without_naming_the_secret_path(hook):
    hook.answer = 503
    with pytest.raises(EnvironmentProblem, match="answered") as caught:
        post(ALERT, hook.url)
    assert (
        str(caught.value) == "posting an alert to webhook 127.0.0.1: the server answered HTTP 503"
    )


def test_a_post_to_a_closed_port_raises():
    with pytest.raises(EnvironmentProblem, match="refused"):
        post(ALERT, "http://127.0.0.1:1/secret-path")


def test_only_web_addresses_are_posted_to():
    with pytest.raises(ConfigError, match="scheme 'file' is not supported: use http or https"):
        post(ALERT, "file:///etc/passwd")


def test_a_check_alerts_when_it_begins_to_fail_and_when_it_passes_again(instance, hook):
    cursor = None
    for passed in (True, False, False, True, True):
        evaluate(instance, passed=passed)
        cursor = tick(instance, hook, cursor).cursor
    assert [each["text"] for each in hook.got] == [
        "A->B: lag_sla failed: as the test says",
        "A->B: lag_sla passed: as the test says",
    ]


def test_a_post_that_fails_fails_the_tick_and_is_tried_again(instance, hook):
    evaluate(instance, passed=False)
    hook.answer = 500
    with pytest.raises(EnvironmentProblem):
        tick(instance, hook, None)
    hook.answer = 200
    result = tick(instance, hook, None)
    assert len(hook.got) == 1
    assert result.skip_reason.skip_message == "failed checks: A->B lag_sla"


def test_a_failed_launch_alerts_with_the_application_and_the_reason(instance, hook):
    @dg.op
    def breaks() -> None:
        raise dg.Failure("the driver cannot reach A")

    @dg.job(tags={APPLICATION_TAG: "B"})
    def launching() -> None:
        breaks()

    result = launching.execute_in_process(instance=instance, raise_on_error=False)
    context = dg.build_run_status_sensor_context(
        "alert_on_failed_runs",
        dagster_event=result.get_run_failure_event(),
        dagster_instance=instance,
        dagster_run=result.dagster_run,
        resources={"isthmus": FakeIsthmus.of(World(a_config(webhook_url=hook.url)))},
    ).for_run_failure()
    alert_on_failed_runs(context)
    (alert,) = hook.got
    assert (alert["kind"], alert["subject"]) == ("run_failed", "B")
    assert alert["text"] == "launching for B: the driver cannot reach A"


def test_failures_are_counted_back_to_the_last_success(instance):
    statuses = [dg.DagsterRunStatus.FAILURE] * 2
    statuses += [dg.DagsterRunStatus.SUCCESS] + [dg.DagsterRunStatus.FAILURE] * 3
    runs = [
        create_run_for_test(instance, job_name="j", status=each, tags={APPLICATION_TAG: "B"})
        for each in statuses
    ]
    create_run_for_test(
        instance, job_name="j", status=dg.DagsterRunStatus.FAILURE, tags={APPLICATION_TAG: "C"}
    )
    counted = [_failures_in_a_row(instance, run) for run in runs]
    assert counted == [1, 2, 1, 1, 2, 3]


def test_a_loop_of_failures_alerts_ever_more_seldom():
    assert [n for n in range(40) if is_worth_an_alert(n)] == [1, 2, 4, 8, 16, 32]
