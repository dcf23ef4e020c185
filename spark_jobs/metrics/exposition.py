"""Serves a driver's figures to Prometheus: ``http://<metrics.host>:<metrics.port>/metrics``.

Figures are computed on a scrape only. No failure here delays a flow.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import structlog

from replication.errors import EnvironmentProblem
from replication.supervision import metric_catalogue
from replication.supervision.driver_supervision import metrics_port
from replication.supervision.metric_catalogue import MetricType
from replication.supervision.metric_samples import flow_samples
from spark_jobs.metrics.metrics_server import start_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

    from replication.settings.config import Config
    from replication.settings.metrics_settings import MetricsSettings
    from replication.supervision.flow_figures import FlowFigures

_RETRY_S = 30.0

log = structlog.get_logger()


class Exposition:
    """The endpoint of one driver. ``gather`` reads all flows' figures, in other threads.

    ``driver`` has the label values of ``metric_catalogue.DRIVER``, ``jvm`` the pid of Spark's JVM.
    """

    def __init__(
        self,
        settings: MetricsSettings,
        port: int | None,
        gather: Callable[[], Iterable[FlowFigures]],
        driver: tuple[str, ...],
        jvm: int,
    ) -> None:
        self.port: int | None = None  # that the endpoint listens on
        self._settings = settings
        self._configured_port = port
        self._gather = gather
        self._driver = driver
        self._jvm = jvm
        self._try_at = 0.0
        self._trying: threading.Thread | None = None
        self._logged = ""

    def serve(self) -> None:
        """Start listening if a port is configured and not open yet; after a failure, try again.

        Returns at once: a name lookup takes tens of seconds where the resolver does not answer.
        """
        if (
            self._configured_port is None
            or self.port is not None
            or time.monotonic() < self._try_at
        ):
            return
        if self._trying is not None and self._trying.is_alive():
            return
        self._try_at = time.monotonic() + _RETRY_S
        # A daemon: a driver that ends does not wait for it.
        self._trying = threading.Thread(
            target=self._listen, args=[self._configured_port], name="metrics endpoint", daemon=True
        )
        self._trying.start()

    def _listen(self, port: int) -> None:
        where = f"{_in_url(self._settings.host)}:{port}"
        try:
            from prometheus_client import make_wsgi_app  # noqa: PLC0415 - only where it is configured

            self.port = start_server(self._settings, port, make_wsgi_app(self._registry()))
        except (OSError, OverflowError) as error:
            problem = f"{where}: {getattr(error, 'strerror', None) or error}"
            self._log_failure(f"{problem}; free it, or choose another metrics.port or metrics.host")
        except EnvironmentProblem as error:
            self._log_failure(str(error))
        except ImportError:
            self._log_failure("prometheus-client is not installed: run `make setup`")
        else:
            scheme = "http" if self._settings.certificate is None else "https"
            address = f"{scheme}://{_in_url(self._settings.host)}:{self.port}/metrics"
            log.info("metrics endpoint started", address=address)

    def _log_failure(self, reason: str) -> None:
        if reason != self._logged:
            log.warning("metrics endpoint failed to start", reason=reason)
        self._logged = reason

    def _registry(self) -> CollectorRegistry:
        from prometheus_client import CollectorRegistry, ProcessCollector  # noqa: PLC0415 - as above

        registry = CollectorRegistry(support_collectors_without_names=True)
        ProcessCollector(registry=registry)
        ProcessCollector("isthmus_jvm", lambda: self._jvm, registry=registry)
        registry.register(self)
        return registry

    def families(self) -> Iterable[Metric]:
        """Return all that the endpoint serves, as it is now. Raises ImportError."""
        return self._registry().collect()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics with their samples; the registry calls this."""
        families = {each.name: _family(each) for each in metric_catalogue.ALL}
        families[metric_catalogue.DRIVER.name].add_metric(self._driver, 1)
        for figures in self._gather():
            for name, labels, value in flow_samples(figures, self._settings.detail):
                if isinstance(value, tuple):
                    families[name].add_metric(labels, *value)
                else:
                    families[name].add_metric(labels, value)
        yield from families.values()


def exposition_of(
    config: Config, application: str, gather: Callable[[], Iterable[FlowFigures]], jvm: int
) -> Exposition:
    """Return the endpoint of this process, which drives one application of a config file."""
    driver = application, socket.gethostname(), str(os.getpid()), config.spark.master
    return Exposition(config.metrics, metrics_port(config, application), gather, driver, jvm)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _family(metric: metric_catalogue.Metric) -> Any:
    from prometheus_client import core  # noqa: PLC0415 - as above

    kinds = {
        MetricType.COUNTER: core.CounterMetricFamily,
        MetricType.GAUGE: core.GaugeMetricFamily,
        MetricType.SUMMARY: core.SummaryMetricFamily,
    }
    return kinds[metric.kind](metric.name, metric.about, labels=metric.labels)
