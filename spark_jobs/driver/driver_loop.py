"""Drives all flows of one Spark application: leases, JVM, session, and the main loop."""

from __future__ import annotations

import functools
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import structlog

from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.clients import KafkaClients
from replication.adapters.local.cluster_file import cluster_file
from replication.adapters.offset_reader import GroupSyncs
from replication.adapters.topics.state_store import StateStore
from replication.client.cluster_ids import FlowClusters
from replication.errors import ClusterUnavailable, ReplicationError
from replication.model import FlowState
from replication.naming.topic_namer import Namer
from replication.planning.planner import Part, Planner
from replication.planning.target_snapshot import read_arrivals
from replication.provenance.routes import Routes
from spark_jobs.driver.background_tasks import BackgroundTasks
from spark_jobs.driver.cluster_watch import ClusterWatch
from spark_jobs.driver.flow_driver import FlowDriver
from spark_jobs.driver.flow_lease import FlowLease
from spark_jobs.driver.flow_query import is_stopped, slots, start_query
from spark_jobs.driver.task_list import tasks_of
from spark_jobs.metrics.exposition import exposition_of
from spark_jobs.metrics.metrics_collector import MetricsCollector
from spark_jobs.planning.delivery_modes import DeliveryModes
from spark_jobs.planning.flow_planner import FlowMemory, FlowPlanner
from spark_jobs.planning.name_announcements import NameAnnouncements
from spark_jobs.planning.names_in_use import NamesInUse
from spark_jobs.planning.naming_guard import NamingGuard
from spark_jobs.planning.source_topics import SourceTopics
from spark_jobs.planning.topic_watcher import TopicWatcher
from spark_jobs.planning.unit_template import template
from spark_jobs.process.jvm import DIED, SparkJvm, dump_archive
from spark_jobs.process.loop_watchdog import LoopWatchdog
from spark_jobs.process.spark_session import (
    block_directories,
    reaches_running_units,
    start_session,
    warm_workers,
)
from spark_jobs.process.startup_timer import StartupTimer
from spark_jobs.source.data_source import GRACE_S, IsthmusSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future
    from pathlib import Path
    from types import FrameType

    from pyspark.sql import SparkSession

    from replication.settings.sections import Config, Flow
    from spark_jobs.driver.flow_query import FlowQuery
    from spark_jobs.metrics.exposition import Exposition
    from spark_jobs.planning.flow_planner import FlowPlan
    from spark_jobs.process.appdir import AppDir, Lock

_TICK_S = 0.2
_RETRY_S = 2.0
_DUMP_AFTER_S = 8.0
_TASKS_AT_ONCE = 7  # of one flow, so that a task that waits does not delay the others

log = structlog.get_logger()


class Driver:
    """Drives the flows of one application until a signal ends it."""

    def __init__(
        self, config: Config, flows: tuple[Flow, ...], directory: AppDir, lock: Lock
    ) -> None:
        self._config = config
        self._directory = directory
        self._lock = lock
        self._known = {each.name: FlowClusters(each.name) for each in flows}
        self._clients = KafkaClients(known=self._known)
        self._routes = Routes.of(config.flows, config.clusters)
        self._pool = ThreadPoolExecutor(max_workers=len(flows) + 1)
        # Their own pool: a task that waits for a silent cluster must not delay planning.
        self._task_pool = ThreadPoolExecutor(_TASKS_AT_ONCE * len(flows), "task")
        store = self._clients.store(flows[0])  # all flows have one target
        into_target = {each.name for each in config.flows_into(flows[0].target)}
        others = into_target - {each.name for each in flows}
        announcements = NameAnnouncements(store, others) if others else None
        self._guard = NamingGuard(store, announcements)
        self._syncs = GroupSyncs(config, _warn_of_offsets, self._known)
        self._flows = [self._flow(each) for each in sorted(flows, key=lambda flow: flow.name)]
        self._exposition: Exposition | None = None
        self._spark: SparkSession | None = None
        self._ending = False
        self._slots_at = 0.0
        self._grace_s = 0.0
        self._blocks: tuple[Path, ...] = ()

    def run(self, jvm: SparkJvm, conf: Mapping[str, str]) -> None:
        """Take the leases, start Spark, drive. Raises FlowTaken, EnvironmentProblem.

        Until the first flow is driven, a signal ends the process at once: there is nothing to undo.
        """
        timer = StartupTimer()
        gather = MetricsCollector(self._flows, self._clients.source).gather
        application, pid = self._directory.application, jvm.process.pid
        self._exposition = exposition_of(self._config, application, gather, pid)
        self._exposition.serve()
        self._take_leases()
        timer.lap("leases_s")
        with self._reasons_in_status():
            jvm.connect()
            timer.lap("jvm_s")
            self._spark = start_session(conf)
        self._grace_s = GRACE_S if reaches_running_units(conf) else 0.0
        self._pool.submit(warm_workers, self._spark)
        self._spark.dataSource.register(IsthmusSource)
        self._blocks = block_directories(conf)
        timer.lap("session_s")
        log.info("driver started", **timer.seconds)
        self._loop(jvm)
        self._spark.stop()

    def _take_leases(self) -> None:
        """Take all leases, in the order of flow names, so that of two drivers one gets all."""
        for each in self._flows:
            self._retry_while_unavailable(each.lease.prepare)
        for each in self._flows:
            self._retry_while_unavailable(each.lease.take)
            each.lease.probe_fencing()
        generations = {each.flow.name: each.lease.status.generation for each in self._flows}
        self._lock.write(generations=generations)

    @contextmanager
    def _reasons_in_status(self) -> Iterator[None]:
        """Write into the status of each flow why Spark does not start; raise it again."""
        try:
            yield
        except ReplicationError as error:
            for each in self._flows:
                each.lease.beat(state=str(FlowState.FAILED), reason=str(error))
                each.lease.close()
            raise

    def _retry_while_unavailable(self, action: Callable[[], None]) -> None:
        logged = ""
        while True:
            try:
                action()
            except ClusterUnavailable as error:
                if str(error) != logged:
                    log.warning("target not reachable, retrying", reason=str(error))
                logged = str(error)
                time.sleep(_RETRY_S)
            else:
                return

    def _loop(self, jvm: SparkJvm) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        watchdog = LoopWatchdog(
            lambda: _die("the driver's main loop hangs; Spark's JVM may not respond")
        )
        watchdog.start()
        while not all(each.done for each in self._flows):
            begin = time.monotonic()
            self._drive(jvm, watchdog.beat)
            time.sleep(max(0.02, _TICK_S - (time.monotonic() - begin)))
        watchdog.stop()
        for each in self._flows:
            each.lease.close()

    def _drive(self, jvm: SparkJvm, beat: Callable[[], None]) -> None:
        """Tick every flow; exit at once when the JVM has exited.

        ``beat`` is called after each flow: starting the queries of many flows takes a while.
        """
        if self._exposition is not None:
            self._exposition.serve()
        try:
            self._check_slots()
            self._dump_classes(jvm)
            for each in self._flows:
                each.ending = self._ending
                each.tick()
                beat()
                if reason := each.restart_reason:
                    _die(reason)
                if each.stalls(has_slots=self._has_slots):
                    _die(f"an epoch of {each.flow.name} does not end: a Spark worker process hangs")
        except Exception:
            if not self._has_exited(jvm):
                raise
        if not jvm.alive:
            _die("Spark's JVM has exited")
        if lost := [each for each in self._blocks if not each.exists()]:
            _die(f"Spark's files were deleted in {lost[0].parent}")

    def _has_exited(self, jvm: SparkJvm) -> bool:
        deadline = time.monotonic() + 1.0  # its sockets close a little earlier
        while jvm.alive and time.monotonic() < deadline:
            time.sleep(0.05)
        return not jvm.alive

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._ending = True

    def _check_slots(self) -> None:
        """Set ``slot_shortage`` of waiting flows, so that no unit waits a whole epoch for slots."""
        waiting = [each for each in self._flows if each.query is None]
        if not waiting or self._spark is None or time.monotonic() < self._slots_at:
            return
        self._slots_at = time.monotonic() + _RETRY_S
        if is_stopped(self._spark):
            _die("Spark stopped the application (see the Spark cluster's log)")
        free = slots(self._spark) - self._taken()
        for each in waiting:
            needed = each.flow.copying.units
            each.slot_shortage = "" if needed <= free else self._shortage(needed, free)
            free -= 0 if each.slot_shortage else needed

    def _taken(self) -> int:
        return sum(each.flow.copying.units for each in self._flows if each.query is not None)

    def _has_slots(self) -> bool:
        """Return whether Spark has slots for all units that should run."""
        return self._spark is None or slots(self._spark) >= self._taken()

    def _shortage(self, needed: int, free: int) -> str:
        return (
            f"Spark at {self._config.spark.master} has {max(free, 0)} free slots, this flow's "
            f"units need {needed}: add workers or cores (spark.cores.max, spark.executor.cores), "
            "or set tasks.max lower"
        )

    def _dump_classes(self, jvm: SparkJvm) -> None:
        """Write the class archive once, when all classes that a start needs are loaded."""
        if jvm.archive is None or not all(each.copies_since(_DUMP_AFTER_S) for each in self._flows):
            return
        archive, jvm.archive = jvm.archive, None
        if self._spark is not None:
            self._pool.submit(dump_archive, self._spark.sparkContext._gateway, archive)  # noqa: SLF001 - see dump_archive

    def _flow(self, flow: Flow) -> FlowDriver:
        store = StateStore(to_librdkafka(flow.clients.target_admin), flow.state_replication_factor)
        directory = self._directory.flow(flow.name)
        file = cluster_file(self._directory.root, flow.name)
        readers = [
            (each, KafkaClients().store)
            for each in self._config.flows
            if each.source == flow.target
        ]
        clusters = ClusterWatch(flow, self._known[flow.name], store, file, readers)
        lease = FlowLease(flow, store, clusters)
        topic_watcher = TopicWatcher(flow, directory, self._planner(flow, lease))
        starter = functools.partial(self._start, flow)
        tasks = BackgroundTasks(flow.name, self._task_pool, lease.report)
        tasks.add(tasks_of(flow, self._config, self._syncs))
        return FlowDriver(flow, lease, topic_watcher, starter, tasks)

    def _planner(self, flow: Flow, lease: FlowLease) -> functools.partial[Future[FlowPlan]]:
        namer = Namer.for_flow(flow, self._config)
        modes = DeliveryModes(flow.copying.delivery, lambda: lease.missing_guarantees)
        store = self._clients.store(flow)
        flows = [each.name for each in self._config.flows]
        arrivals = functools.partial(read_arrivals, flow, self._config, self._clients)
        topics = SourceTopics(flow.name, namer.selector, store)
        names = NamesInUse(namer, store, lambda: lease.name_decisions, arrivals, flows)
        memory = FlowMemory(topics, names, lease.clusters.check)
        planner = FlowPlanner(namer, self._routes, self._guard, modes, memory)
        return functools.partial(
            self._pool.submit,
            planner.plan,
            self._clients.source(flow),
            self._clients.target(flow),
            Planner(self._config, self._clients, {Part.TOPICS}),
        )

    def _start(self, flow: Flow, generation: int, attempt: int, after: int) -> FlowQuery:
        if self._spark is None:
            raise RuntimeError("a query was started before the Spark session")
        directory = self._directory.flow(flow.name)
        checkpoint = directory.fresh_checkpoint(generation, attempt)
        unit_spec = replace(
            template(flow, generation, self._routes),
            epoch=after,
            grace_s=self._grace_s,
            source_id=self._known[flow.name].source_id,
            target_id=self._known[flow.name].target_id,
        )
        return start_query(self._spark, directory, unit_spec, flow.copying.units, checkpoint)


def _warn_of_offsets(flow: str, reason: str) -> None:
    log.warning("group offsets not translated", flow=flow, reason=reason)


def _die(reason: str) -> NoReturn:
    """Exit now, whatever the threads are doing; the watcher restarts the driver."""
    log.error("driver exiting for restart", reason=reason)
    os._exit(DIED)
