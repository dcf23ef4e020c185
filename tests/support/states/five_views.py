"""What five places say of flows and partitions: status, metrics, checks, alerts and the report.

Each is the real thing: the data of ``isthmus status -o json``, a scrape over HTTP, what Dagster's
UI shows of the checks that its supervisor evaluates, the posts of its alert sensor to a webhook,
and the page of ``isthmus report``.
"""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from html import unescape
from typing import TYPE_CHECKING, Any, NamedTuple

import dagster as dg

from orchestration.dagster.alert_sensors import alert_on_checks
from orchestration.dagster.assets import stream_key, topics_key
from orchestration.dagster.check_history import last_result
from orchestration.dagster.check_results import HEALTH_CHECK
from orchestration.dagster.checks import build_flow_checks
from orchestration.dagster.observations.topic_events import COPIED_CHECK
from orchestration.dagster.resources import Isthmus
from orchestration.dagster.sensors import supervisor
from orchestration.flows.status_view import StatusView, as_data
from orchestration.report.flow_history import FlowSeries
from orchestration.report.page import page
from orchestration.services.launcher import Launcher
from orchestration.services.state_directory import StateDirectory
from replication.clock import now_ms
from replication.config.load import load_config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from support.flows.spark_driver import Application
    from support.network.prometheus import Scrape
    from support.network.webhook import Hook

VIEWS = ("status", "metric", "check", "alert", "report")
_BETWEEN_S = 1.0  # Dagster's daemon ticks every 5 s, for alerts every 10 s


class Reading(NamedTuple):
    """An answer of a view, from when it was asked until when it had answered (monotonic s)."""

    at: float
    until: float
    output: Any


class FiveViews:
    """Asks all views again and again, each in a thread of its own, and keeps what they say."""

    def __init__(self, application: Application, hook: Hook) -> None:
        self._application, self._hook = application, hook
        self._config = load_config(application.config).config
        self._home = StateDirectory(application.home / "state")
        self._isthmus = Isthmus(str(application.config), str(self._home.root))
        self._instance = dg.DagsterInstance.ephemeral()
        self._cursors: dict[str, str | None] = {}
        self._looks = [
            StatusView(self._config, Launcher(self._home, application.config)) for _ in range(2)
        ]
        self._over = threading.Event()
        self._readings: dict[str, list[Reading]] = {each: [] for each in VIEWS}
        asks = (self._status, self._metrics, self._checks, self._alerts, self._report)
        self._threads = [
            threading.Thread(target=self._ask, args=pair) for pair in zip(VIEWS, asks, strict=True)
        ]

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def close(self) -> None:
        self._over.set()
        for each in self._threads:
            each.join()
        self._instance.dispose()

    def seconds_until(
        self,
        since: float,
        is_so: Mapping[str, Callable[[Any], bool]],
        come_s: float,
        agree_s: float,
    ) -> dict[str, float | None]:
        """Return after how many seconds each view said so; None: not in time.

        The first one within ``come_s``, the others within ``agree_s`` after it.
        """
        while True:
            took = {view: self._first(view, since, output) for view, output in is_so.items()}
            known = [each for each in took.values() if each is not None]
            limit_s = min(known) + agree_s if known else come_s
            if len(known) == len(took) or time.monotonic() > since + limit_s:
                return {v: s if s is None or s <= limit_s else None for v, s in took.items()}
            time.sleep(0.1)

    def _first(self, view: str, since: float, is_so: Callable[[Any], bool]) -> float | None:
        asked = (each for each in tuple(self._readings[view]) if each.at >= since)
        return next((each.until - since for each in asked if is_so(each.output)), None)

    def last(self, view: str) -> Any:
        return self._readings[view][-1].output

    def run_checks(self, flow: str) -> dict[str, tuple[bool, str]]:
        """Run a flow's checks as somebody does who presses the button; return their results."""
        checks = build_flow_checks(self._config.flow(flow))
        definitions = dg.Definitions(asset_checks=[checks], resources={"isthmus": self._isthmus})
        job = definitions.resolve_implicit_global_asset_job_def()
        done = job.execute_in_process(instance=self._instance)
        found = done.get_asset_check_evaluations()
        return {each.check_name: (each.passed, each.description or "") for each in found}

    def _ask(self, name: str, view: Callable[[], Any]) -> None:
        while not self._over.is_set():
            at = time.monotonic()
            output = view()
            self._readings[name].append(Reading(at, time.monotonic(), output))
            self._over.wait(max(0.1, _BETWEEN_S - (time.monotonic() - at)))

    def _status(self) -> dict[str, Any]:
        return {each["flow"]: each for each in as_data(self._looks[0].look())["flows"]}

    def _metrics(self) -> Scrape | None:
        """Return a scrape; None: nothing answers, which Prometheus has as ``up == 0``."""
        with suppress(OSError, IndexError):
            return self._application.scrape()
        return None

    def _checks(self) -> dict[tuple[str, str], tuple[bool, str]]:
        """Tick the supervisor; return the newest result of each check."""
        with self._context("supervisor") as context:
            result = supervisor(context)
        self._cursors["supervisor"] = result.cursor
        for each in result.dynamic_partitions_requests or []:
            if isinstance(each, dg.AddDynamicPartitionsRequest):
                self._instance.add_dynamic_partitions(each.partitions_def_name, each.partition_keys)
        for event in result.asset_events:
            self._instance.report_runless_asset_event(event)
        return {
            (flow.name, check): self._evaluated(key, check)
            for flow in self._config.flows
            for key, check in (
                (stream_key(flow.name), HEALTH_CHECK),
                (topics_key(flow.name), COPIED_CHECK),
            )
        }

    def _evaluated(self, key: dg.AssetKey, check: str) -> tuple[bool, str]:
        named = dg.AssetCheckKey(key, check)
        last = last_result(self._instance, named)
        return (last.evaluation.passed, last.evaluation.description or "") if last else (True, "")

    def _alerts(self) -> tuple[dict[str, Any], ...]:
        """Tick the alert sensor; return all that the webhook got until now."""
        with self._context("alerts") as context:
            result = alert_on_checks(context)
        self._cursors["alerts"] = result.cursor
        return tuple(self._hook.got)

    def _context(self, name: str) -> dg.SensorEvaluationContext:
        return dg.build_sensor_context(
            instance=self._instance,
            resources={"isthmus": self._isthmus},
            cursor=self._cursors.get(name),
        )

    def _report(self) -> str:
        """Return the text of the page after one look at the flows."""
        at_ms, histories = now_ms(), []
        for each in self._looks[1].look():
            history = FlowSeries(each.name, 60.0)
            history.add(each, at_ms)
            histories.append(history)
        return unescape(page(histories, at_ms))


def flow_state(view: str, flow: str, output: Any) -> str:
    """Return the state that a view names of a flow; empty: it names none."""
    if view == "status":
        return str(output[flow]["state"])
    if view == "metric":
        return _label(output, "isthmus_flow_state", *_ends(flow)) if output else "up == 0"
    if view == "check":
        return output[flow, HEALTH_CHECK][1].partition(":")[0]
    if view == "alert":
        mine = [each for each in output if flow in each["flows"]]
        return str(mine[-1]["state"]) if mine else ""
    return _found(rf"<td>{re.escape(flow)}</td><td>(\w+)", output)


def partition_state(view: str, flow: str, topic: str, output: Any) -> str:
    """Return the state that a view names of partition 0 of a topic; empty: it names none."""
    if view == "status":
        states = {e["topic"]: e["partitions"][0]["state"] for e in output[flow]["topics"]}
        return str(states.get(topic, ""))
    if view == "metric":
        labels = (*_ends(flow), ("topic", topic))
        return _label(output, "isthmus_partition_not_running", *labels) if output else "up == 0"
    if view == "report":
        return _found(rf"<td>{topic}-0</td><td>([A-Z_]+)</td>", output)
    text = output[flow, COPIED_CHECK][1] if view == "check" else _told(flow, output)
    return _found(rf"\b([A-Z_]+): (?:[\w-]+, )*{topic}\b", text)


def _told(flow: str, alerts: tuple[dict[str, Any], ...]) -> str:
    """Return the lines of a flow's last alert that name the topics that are not copied."""
    mine = [each["text"] for each in alerts if flow in each["flows"]]
    return (
        "\n".join(e for e in mine[-1].splitlines() if e.startswith("not copied:")) if mine else ""
    )


def _ends(flow: str) -> tuple[tuple[str, str], ...]:
    source, _, target = flow.partition("->")
    return ("source", source), ("target", target)


def _label(scrape: Scrape, metric: str, *labels: tuple[str, str]) -> str:
    """Return the label ``state`` of the first sample that is 1 and has these labels."""
    expected = set(labels)
    found = (
        dict(given).get("state", "")
        for (name, given), value in scrape.items()
        if name == metric and value == 1 and expected <= given
    )
    return next(found, "")


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""
