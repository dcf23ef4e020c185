"""The figures of a driver as a request of OTLP, OpenTelemetry's protocol. Pure.

Names, labels and units are those that Prometheus reads, as with the Collector's Prometheus
receiver. Counters are cumulative: a push that is lost is made up for by the next one. Their start
is left out, which the protocol allows: what is counted is older than the driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    Gauge,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
    Summary,
    SummaryDataPoint,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prometheus_client import Metric as Family
    from prometheus_client.samples import Sample

_SCOPE = "isthmus"


def otlp_request(
    families: Iterable[Family], resource: Mapping[str, str], at_ms: int
) -> ExportMetricsServiceRequest:
    """Return the request with all figures of ``at_ms``; ``resource`` says whose they are."""
    at_ns = at_ms * 1_000_000
    metrics = [_metric(each, at_ns) for each in families if each.samples]
    scope = ScopeMetrics(scope=InstrumentationScope(name=_SCOPE), metrics=metrics)
    whose = Resource(attributes=_attributes(resource))
    return ExportMetricsServiceRequest(
        resource_metrics=[ResourceMetrics(resource=whose, scope_metrics=[scope])]
    )


def _metric(family: Family, at_ns: int) -> Metric:
    made = Metric(name=family.name, description=family.documentation)
    if family.type == "summary":
        made.summary.CopyFrom(Summary(data_points=_summaries(family.samples, at_ns)))
        return made
    if family.type == "counter":
        counted = [each for each in family.samples if each.name.endswith("_total")]
        made.name = f"{family.name}_total"
        made.sum.CopyFrom(
            Sum(
                data_points=[_number(each, at_ns) for each in counted],
                aggregation_temporality=AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE,
                is_monotonic=True,
            )
        )
        return made
    made.gauge.CopyFrom(Gauge(data_points=[_number(each, at_ns) for each in family.samples]))
    return made


def _number(sample: Sample, at_ns: int) -> NumberDataPoint:
    return NumberDataPoint(
        attributes=_attributes(sample.labels), time_unix_nano=at_ns, as_double=sample.value
    )


def _summaries(samples: Iterable[Sample], at_ns: int) -> list[SummaryDataPoint]:
    """Return a point for each set of labels: its count and its sum are two samples."""
    found: dict[tuple[tuple[str, str], ...], SummaryDataPoint] = {}
    for each in samples:
        labels = tuple(sorted(each.labels.items()))
        point = found.setdefault(
            labels,
            SummaryDataPoint(attributes=_attributes(each.labels), time_unix_nano=at_ns),
        )
        if each.name.endswith("_count"):
            point.count = int(each.value)
        elif each.name.endswith("_sum"):
            point.sum = each.value
    return list(found.values())


def _attributes(labels: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=name, value=AnyValue(string_value=text)) for name, text in labels.items()]
