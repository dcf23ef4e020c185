"""Drives all flows of one Spark application: leases, JVM, session, and the main loop."""

from __future__ import annotations

import functools
import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import structlog

from replication.config.changes import is_same
from replication.errors import ReplicationError
from spark_jobs.driver.batch_end import BatchEnd
from spark_jobs.driver.class_dump import dump_when_loaded
from spark_jobs.driver.driver_heartbeats import StartHeartbeats
from spark_jobs.driver.edited_file import EditedFile, hosted, restart_reason
from spark_jobs.driver.flow.flow_query import start_query
from spark_jobs.driver.flow_parts import FlowParts
from spark_jobs.driver.start_leases import reasons_in_status, take_leases
from spark_jobs.driver.task_slots import TaskSlots
from spark_jobs.metrics.exposition import exposition_of
from spark_jobs.metrics.metrics_collector import MetricsCollector
from spark_jobs.metrics.otlp_push import OtlpPush, resource_of
from spark_jobs.process.jvm import DIED, SparkJvm
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
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import FrameType

    from pyspark.sql import SparkSession

    from replication.adapters.followed_file import FileInForce, FollowedFile
    from replication.settings.flow_settings import Flow
    from spark_jobs.driver.flow.flow_driver import FlowDriver
    from spark_jobs.driver.flow.flow_query import FlowQuery
    from spark_jobs.driver.flow_lease import FlowLease
    from spark_jobs.metrics.exposition import Exposition
    from spark_jobs.process.appdir import AppDir, Lock

_TICK_S = 0.2

log = structlog.get_logger()


class Driver:
    """Drives the flows of one application until a signal ends it, or the run of a batch flow."""

    def __init__(
        self, file: FollowedFile, reading: FileInForce, flows: tuple[Flow, ...], directory: AppDir
    ) -> None:
        self.restart = ""  # why the driver is to start again, once it has ended cleanly
        self._spark: SparkSession | None = None
        self._directory = directory
        self._parts = FlowParts(reading.config, flows, directory, self._session)
        self._file = EditedFile(file, reading, self._parts.pool)
        self._flows = [
            self._parts.flow_driver(each.name, functools.partial(self._start, each.name))
            for each in sorted(flows, key=lambda flow: flow.name)
        ]
        self._slots = TaskSlots(self._flows, lambda: self._parts.config)
        first = self._flows[0]  # a batch flow has an application of its own
        self._batch = self._batch_end(first) if first.flow.is_batch else None
        self._mark()
        self._exposition: Exposition | None = None
        self._ending = False
        self._grace_s = 0.0
        self._blocks: tuple[Path, ...] = ()

    def run(self, jvm: SparkJvm, conf: Mapping[str, str], lock: Lock) -> None:
        """Take the leases, start Spark, drive. Raises FlowTaken, EnvironmentProblem.

        Until the first flow is driven, a signal ends the process at once: there is nothing to undo.
        """
        timer = StartupTimer()
        gather = MetricsCollector(
            self._flows, self._parts.clients.source, self._parts.anchor_reader
        ).gather
        application, pid = self._directory.application, jvm.process.pid
        self._exposition = exposition_of(self._parts.config, application, gather, pid)
        self._exposition.serve()
        otlp, whose = self._parts.config.metrics.otlp, resource_of(application)
        OtlpPush(otlp, self._exposition.families, whose).start()
        take_leases(self._leases, lock)
        timer.end_step("leases_s")
        with reasons_in_status(self._leases), StartHeartbeats(self._leases, _die):
            jvm.connect()
            timer.end_step("jvm_s")
            self._spark = start_session(conf)
        self._grace_s = GRACE_S if reaches_running_units(conf) else 0.0
        self._parts.pool.submit(warm_workers, self._spark)
        self._spark.dataSource.register(IsthmusSource)
        self._blocks = block_directories(conf)
        timer.end_step("session_s")
        log.info("driver started", **timer.seconds)
        self._loop(jvm)
        self._spark.stop()

    @property
    def _leases(self) -> list[FlowLease]:
        return [each.lease for each in self._flows]

    def _loop(self, jvm: SparkJvm) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        watchdog = LoopWatchdog(
            lambda: _die("the driver's main loop hangs; Spark's JVM may not respond")
        )
        watchdog.start()
        while not all(each.done for each in self._flows):
            begin = time.monotonic()
            self._follow()
            self._drive(jvm, watchdog.beat)
            if self._batch is not None and self._batch.look():
                self._ending = True
            time.sleep(max(0.02, _TICK_S - (time.monotonic() - begin)))
        watchdog.stop()
        self._record_run()
        for each in self._flows:
            each.lease.close()

    def _batch_end(self, driver: FlowDriver) -> BatchEnd:
        source = functools.partial(self._parts.clients.source, driver.flow)
        return BatchEnd(driver, source, self._parts.anchor_reader(driver.flow), self._parts.pool)

    def _record_run(self) -> None:
        """Write how the run of a batch flow ended, unless the driver starts again for an edit."""
        if self._batch is None or self.restart:
            return
        try:
            self._batch.record()
        except ReplicationError as error:
            log.warning("batch run result not written", reason=str(error))

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
                if self._ending:
                    each.end()
                each.tick()
                self._parts.follow_load(each)
                beat()
                if reason := each.restart_reason:
                    _die(reason)
                if each.cycle.stalls(has_slots=self._has_slots):
                    _die(f"an epoch of {each.flow.name} does not end: a Spark worker process hangs")
        except Exception:
            if not self._has_exited(jvm):
                raise
        if not jvm.alive:
            _die("Spark's JVM has exited; its last lines are above")
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
        if self._spark is not None and not self._slots.look(self._spark):
            _die("Spark stopped the application (see the Spark cluster's log)")

    def _has_slots(self) -> bool:
        return self._spark is None or self._slots.suffice(self._spark)

    def _dump_classes(self, jvm: SparkJvm) -> None:
        if self._spark is not None:
            dump_when_loaded(jvm, self._spark, self._flows)

    def _start(self, name: str, generation: int, attempt: int, after: int) -> FlowQuery:
        directory = self._directory.flow(name)
        checkpoint = directory.fresh_checkpoint(generation, attempt)
        unit_spec = replace(
            self._parts.template(name, generation), epoch=after, grace_s=self._grace_s
        )
        units = self._parts.flow(name).copying.units
        return start_query(self._session(), directory, unit_spec, units, checkpoint)

    def _session(self) -> SparkSession:
        if self._spark is None:
            raise RuntimeError("the Spark session was asked for before it has started")
        return self._spark

    def _follow(self) -> None:
        """Put an edit of the file into force, or end in order to start again with it."""
        if not self._file.look():
            return
        self._mark()
        reading, before = self._file.reading, self._parts.config
        if reading.problem:
            log.error("the edited file is not in force", reason=reading.problem)
        for line in reading.changes:
            log.info("the file was edited", change=line)
        if self._ending or is_same(before, reading.config):
            return
        after, names = reading.config, {each.flow.name for each in self._flows}
        keeps = hosted(before, after, self._directory.application, names)
        if reason := restart_reason(before, after, names, keeps):
            self._hand_over(reason, keeps)
        else:
            self._parts.follow(after, self._flows)

    def _hand_over(self, reason: str, keeps: set[str]) -> None:
        """End all flows; those that the application keeps are copied on after another start."""
        self.restart = f"the file was edited: {reason}" if keeps else ""
        log.info("driver ends for the edited file", reason=reason, starts_again=bool(keeps))
        self._ending = True
        for each in self._flows:
            each.end(restart=self.restart if each.flow.name in keeps else "")

    def _mark(self) -> None:
        """Let the status of each flow say which settings are in force."""
        for each in self._flows:
            each.note_file(self._file.reading)


def _die(reason: str) -> NoReturn:
    """Exit now, whatever the threads are doing; the watcher restarts the driver."""
    log.error("driver exiting for restart", reason=reason)
    os._exit(DIED)
