"""What an endpoint of OTLP gets: the same figures that Prometheus reads."""

from __future__ import annotations

import os
import socket
import sys
import threading
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from structlog.testing import capture_logs
from support.flows.spark_driver import wait_for
from support.network.otlp_endpoint import Endpoint, attributes, otlp_endpoint

from replication.settings.metrics_settings import MetricsSettings
from replication.settings.otlp_settings import OtlpSettings
from replication.state import FlowStatus
from replication.supervision.flow_figures import FlowCounters, FlowFigures, FlowReading
from spark_jobs.metrics.exposition import Exposition
from spark_jobs.metrics.otlp_push import OtlpPush, resource_of

FIGURES = FlowFigures(
    "A", "B", FlowStatus("A->B", generation=3), should_copy=True, arrives=True,
    tally=FlowCounters(2), tasks=(), plan=(), copied=FlowReading(1),
)  # fmt: skip


@pytest.fixture
def endpoint():
    with otlp_endpoint() as made:
        yield made


def some_families():
    counter = CounterMetricFamily("x_records", "Records.", labels=["flow"])
    counter.add_metric(["A->B"], 5)
    gauge = GaugeMetricFamily("x_lag", "Lag.", labels=["flow", "topic"])
    gauge.add_metric(["A->B", "t"], 1.5)
    gauge.add_metric(["A->B", "u"], float("nan"))
    summary = SummaryMetricFamily("x_latency_seconds", "Latency.", labels=["flow"])
    summary.add_metric(["A->B"], 4, 0.5)
    summary.add_metric(["C->B"], 2, 0.25)
    return [counter, gauge, summary, GaugeMetricFamily("x_none", "Without samples.")]


def push_of(endpoint: Endpoint | str, collect=some_families, **more) -> OtlpPush:
    url = endpoint if isinstance(endpoint, str) else endpoint.url
    return OtlpPush(OtlpSettings(url, **more), collect, resource_of("B"))


def test_counters_gauges_and_summaries_arrive_with_their_labels(endpoint):
    push_of(endpoint).push()
    found = endpoint.metrics()
    assert set(found) == {"x_records_total", "x_lag", "x_latency_seconds"}
    counted = found["x_records_total"]
    assert (counted.description, counted.sum.is_monotonic) == ("Records.", True)
    assert counted.sum.aggregation_temporality == 2  # cumulative
    (point,) = counted.sum.data_points
    assert (point.as_double, attributes(point.attributes)) == (5, {"flow": "A->B"})
    lags = {
        attributes(e.attributes)["topic"]: e.as_double for e in found["x_lag"].gauge.data_points
    }
    assert lags["t"] == 1.5
    assert lags["u"] != lags["u"]  # NaN stays one
    points = found["x_latency_seconds"].summary.data_points
    assert {attributes(e.attributes)["flow"]: (e.count, e.sum) for e in points} == {
        "A->B": (4, 0.5), "C->B": (2, 0.25),
    }  # fmt: skip
    times = {e.time_unix_nano for each in found.values() for e in each.gauge.data_points}
    assert len(times) == 1


def test_it_says_whose_figures_they_are(endpoint):
    push_of(endpoint).push()
    resource = endpoint.pushed[0].resource_metrics[0].resource
    host, pid = socket.gethostname(), str(os.getpid())
    assert attributes(resource.attributes) == {
        "service.name": "isthmus", "service.instance.id": f"B@{host}:{pid}",
        "host.name": host, "process.pid": pid,
    }  # fmt: skip


def test_a_driver_pushes_every_figure_that_prometheus_reads(endpoint):
    labels = "B", "here", "7", "local[2]"
    made = Exposition(MetricsSettings(), None, lambda: [FIGURES], labels, os.getpid())
    push_of(endpoint, made.families).push()
    found = endpoint.metrics()
    served = {e.name for family in made.families() for e in family.samples}
    pushed = set()
    for name, each in found.items():
        pushed |= {f"{name}_sum", f"{name}_count"} if each.HasField("summary") else {name}
    assert pushed == {each for each in served if not each.endswith("_created")}
    (point,) = found["isthmus_flow_generation"].gauge.data_points
    assert (point.as_double, attributes(point.attributes)) == (3, {"source": "A", "target": "B"})
    assert "isthmus_jvm_process_cpu_seconds_total" in found


def test_it_goes_on_at_its_interval(endpoint):
    push = push_of(endpoint, interval=timedelta(milliseconds=20))
    push.start()
    wait_for(lambda: len(endpoint.pushed) >= 3, 20)
    push.stop()
    wait_for(lambda: all(each.name != "metrics push" for each in threading.enumerate()), 20)


def test_without_an_endpoint_nothing_begins():
    before = {*threading.enumerate()}  # one of them may end meanwhile
    OtlpPush(OtlpSettings(), list, {}).start()
    assert {*threading.enumerate()} <= before


def test_headers_are_sent_and_in_no_log(endpoint):
    with capture_logs() as logs:
        push_of(endpoint, headers="Authorization=Bearer s3cret-of-push, x-scope = a=b").push()
    path, headers = endpoint.headers[0]
    assert path == "/v1/metrics"
    assert (headers["Authorization"], headers["x-scope"]) == ("Bearer s3cret-of-push", "a=b")
    assert headers["Content-Type"] == "application/x-protobuf"
    assert "s3cret" not in repr(logs) + repr(OtlpSettings(headers="a=s3cret"))


def test_a_failure_is_logged_once_until_it_works(endpoint):
    push = push_of(endpoint)
    with capture_logs() as logs:
        for status in (200, 503, 503, 200, 200):
            endpoint.status = status
            push.push()
    assert [(e["event"], e.get("reason")) for e in logs] == [
        ("metrics push works", None),
        ("metrics push failed", "HTTP 503 Service Unavailable"),
        ("metrics push works", None),
    ]


def test_a_redirect_is_not_followed(endpoint):
    endpoint.status = 307
    with capture_logs() as logs:
        push_of(endpoint, headers="a=b").push()
    assert logs[0]["reason"] == "HTTP 307 Temporary Redirect"


@pytest.mark.parametrize(
    ("url", "reasons"),
    [
        pytest.param("http://127.0.0.1:1/v1/metrics", {"connection refused"}, id="nobody"),
        pytest.param(
            "https://127.0.0.1:{port}/v1/metrics",
            {"wrong version number", "unexpected eof", "connection reset"},
            id="no TLS",
        ),
    ],
)
def test_an_endpoint_that_cannot_be_reached_is_named_with_the_reason(endpoint, url, reasons):
    with capture_logs() as logs:
        push_of(url.format(port=endpoint.server.server_port)).push()
    (found,) = logs
    assert found["endpoint"].startswith(url[:15])
    output = found["reason"].lower().replace("_", " ")
    assert any(each in output for each in reasons), output


def test_what_fails_while_figures_are_read_is_no_end():
    def collect():
        raise RuntimeError("broken")

    push = push_of("http://127.0.0.1:1/", collect)
    with capture_logs() as logs:
        push.push()
    assert logs[0]["reason"] == "internal error: RuntimeError: broken"


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "spark_jobs.metrics.otlp_request", None)
    with capture_logs() as logs:
        push_of("http://127.0.0.1:1/", CollectorRegistry().collect).push()
    assert logs[0]["reason"] == "opentelemetry-proto is not installed: pip install 'isthmus[otel]'"
