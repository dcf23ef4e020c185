"""Builds what drives a flow from the settings in force, and replaces it when the file is edited."""

from __future__ import annotations

import functools
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from replication.adapters.auth.client_config import to_librdkafka
from replication.adapters.clients import KafkaClients
from replication.adapters.group_syncs import GroupSyncs
from replication.adapters.local.cluster_file import cluster_file
from replication.adapters.probes.cluster_probe import ClusterProbe
from replication.adapters.topics.anchor_reader import AnchorReader
from replication.adapters.topics.state_store import StateStore
from replication.client.cluster_ids import FlowClusters
from replication.model import BY_ID
from replication.naming.topic_namer import Namer
from replication.planning.planner import Planner, PlanPart
from replication.planning.target_snapshot import read_arrivals
from replication.provenance.routes import Routes
from spark_jobs.budget.disk_watch import DiskWatch
from spark_jobs.budget.unit_count import count_of, least_units
from spark_jobs.driver.background_tasks import BackgroundTasks
from spark_jobs.driver.cluster_watch import ClusterWatch
from spark_jobs.driver.flow.flow_driver import FlowDriver, FlowWork
from spark_jobs.driver.flow_lease import FlowLease
from spark_jobs.driver.task_list import tasks_of
from spark_jobs.planning.delivery_modes import DeliveryModes
from spark_jobs.planning.flow_planner import FlowPlanMemory, FlowPlanner
from spark_jobs.planning.name_announcements import NameAnnouncements
from spark_jobs.planning.names_in_use import NamesInUse
from spark_jobs.planning.naming_guard import NamingGuard
from spark_jobs.planning.source_topics import SourceTopics
from spark_jobs.planning.topic_watcher import TopicWatcher
from spark_jobs.planning.unit_template import template
from spark_jobs.transform.flow_transforms import FlowTransforms, clusters_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from pyspark.sql import SparkSession

    from replication.client.cluster_facts import LogDir
    from replication.copier.spec import UnitSpec
    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow
    from spark_jobs.driver.background_tasks import BackgroundTask, TaskOutcome
    from spark_jobs.driver.flow.query_cycle import Starter
    from spark_jobs.planning.flow_planner import FlowPlan
    from spark_jobs.process.appdir import AppDir
    from spark_jobs.transform.run.run_setting import TransformRunContext

_TASKS_AT_ONCE = 7  # of one flow, so that a task that waits does not delay the others
_OLD_RUNS_S = 120.0  # so long a task that began before an edit may keep its connections

log = structlog.get_logger()


class FlowParts:
    """The parts of the flows of one application; they share clients and threads."""

    def __init__(
        self,
        config: Config,
        flows: tuple[Flow, ...],
        directory: AppDir,
        session: Callable[[], SparkSession],
    ) -> None:
        """``session``: Spark's; it is asked for once flows are driven."""
        self.config = config
        self._session = session
        self._directory = directory
        self._known = {each.name: FlowClusters(each.name) for each in flows}
        self._counts = {each.name: count_of(each) for each in flows}
        self.clients = KafkaClients(known=self._known)
        self.pool = ThreadPoolExecutor(max_workers=len(flows) + 2)
        # Their own pool: a task that waits for a silent cluster must not delay planning.
        self._task_pool = ThreadPoolExecutor(_TASKS_AT_ONCE * len(flows), "task")
        self._disk_pool = ThreadPoolExecutor(1, "disks")  # a silent broker delays only this
        store = self.clients.store(flows[0])  # all flows have one target
        into_target = {each.name for each in config.flows_into(flows[0].target)}
        others = into_target - {each.name for each in flows}
        announcements = NameAnnouncements(store, others) if others else None
        self._guard = NamingGuard(store, announcements)
        self._routes = Routes.of(config.flows, config.clusters)
        self._syncs = GroupSyncs(config, _warn_of_offsets, self._known)

    def flow(self, name: str) -> Flow:
        """Return a flow as it is in force: with as many units as it has now."""
        flow, units = self.config.flow(name), self._counts[name].units
        return flow.model_copy(update={"copying": replace(flow.copying, units=units)})

    def flow_driver(self, name: str, starter: Starter) -> FlowDriver:
        """Return what drives a flow; it connects to no cluster yet."""
        flow = self.flow(name)
        known = self._known[flow.name]
        store = StateStore(
            to_librdkafka(flow.clients.target_admin),
            flow.state_replication_factor,
            verify=known.verify_target,
            reads_any=True,  # there an operator may have accepted it
        )
        file = cluster_file(self._directory.root, flow.name)
        readers = [
            (each, KafkaClients().store) for each in self.config.flows if each.source == flow.target
        ]
        clusters = ClusterWatch(flow, known, store, file, readers)
        lease = FlowLease(flow, store, clusters)
        directory = self._directory.flow(flow.name)
        configured = self.config.flow(name)  # transforms have as many slots as units may come to
        transforms = FlowTransforms(configured, functools.partial(self._setting, configured, lease))
        planner = self._planner(flow, lease)
        topic_watcher = TopicWatcher(flow, directory, planner, transforms.takes)
        tasks = BackgroundTasks(flow.name, self._task_pool, lease.report)
        tasks.add(self._tasks(flow))
        disks = DiskWatch(_target_disks, self._disk_pool)
        return FlowDriver(flow, lease, topic_watcher, starter, FlowWork(tasks, transforms, disks))

    def anchor_reader(self, flow: Flow) -> AnchorReader:
        """Return what reads the flow's anchors, from its own target alone."""
        return AnchorReader(flow, self._known[flow.name].verify_target)

    def template(self, name: str, generation: int) -> UnitSpec:
        """Return what the units of a flow have in common now."""
        known = self._known[name]
        made = template(self.flow(name), generation, self._routes)
        return replace(made, source_id=known.source_id, target_id=known.target_id)

    def follow(self, config: Config, drivers: Iterable[FlowDriver]) -> None:
        """Replace the parts of all flows by those of an edited file; nothing waits.

        A task that runs now ends with the settings of before.
        """
        self.config, before = config, self._syncs
        self._routes = Routes.of(config.flows, config.clusters)
        self._syncs = GroupSyncs(config, _warn_of_offsets, self._known)
        running: list[Future[TaskOutcome]] = []
        for each in drivers:
            configured = config.flow(each.flow.name)
            count = self._counts[configured.name]
            count.limit(least_units(configured), configured.copying.units)
            self._put_into_force(each)
            running += each.tasks.replace(self._tasks(each.flow))
        self._task_pool.submit(_close_after, running, before)

    def follow_load(self, driver: FlowDriver) -> None:
        """Give a flow more or fewer units, if its file says that their number follows the load."""
        name, load = driver.flow.name, driver.cycle.take_load()
        if load is None:
            return
        before, units = driver.flow.copying.units, self._counts[name].see(load, time.monotonic())
        if units != before:
            used = {"busiest_core": load.busiest, "cores": load.all}
            log.info("number of units changed", flow=name, units=units, before=before, **used)
            self._put_into_force(driver)

    def _put_into_force(self, driver: FlowDriver) -> None:
        flow = self.flow(driver.flow.name)
        settings = self.template(flow.name, driver.lease.status.generation)
        driver.follow(flow, self._planner(flow, driver.lease), settings)

    def _tasks(self, flow: Flow) -> Iterable[BackgroundTask]:
        return tasks_of(flow, self.config, self._syncs)

    def _setting(self, flow: Flow, lease: FlowLease) -> TransformRunContext:
        """Return what the flow's transforms need, once Spark has started."""
        # They load pyarrow and pandas, which takes a driver without transforms a second.
        from spark_jobs.transform.run.run_setting import TransformRunContext  # noqa: PLC0415 - see above
        from spark_jobs.transform.transform_job import TransformJob  # noqa: PLC0415 - see above

        spark, known = self._session(), self._known[flow.name]
        by_id = (each for each in self._routes.flows.values() if each.cycle_prevention == BY_ID)
        has_copies = any(each.target == flow.source for each in by_id)
        source, target = self.clients.source(flow), self.clients.target(flow)
        return TransformRunContext(
            flow,
            clusters_of(flow, known.source_id, known.target_id, has_copies=has_copies),
            lease.status.generation,
            lambda transform, number: TransformJob(spark, transform, f"{flow.name} {number}"),
            source.end_offsets,
            lambda: {name: each.partitions for name, each in target.topics().items()},
        )

    def _planner(self, flow: Flow, lease: FlowLease) -> functools.partial[Future[FlowPlan]]:
        config = self.config
        namer = Namer.for_flow(flow, config)
        modes = DeliveryModes(flow.copying.delivery, lambda: lease.missing_guarantees)
        store = self.clients.store(flow)
        flows = [each.name for each in config.flows]
        arrivals = functools.partial(read_arrivals, flow, config, self.clients)
        topics = SourceTopics(flow.name, namer.selector, store)
        names = NamesInUse(namer, store, lambda: lease.name_decisions, arrivals, flows)
        memory = FlowPlanMemory(topics, names, lease.clusters.check)
        planner = FlowPlanner(namer, self._routes, self._guard, modes, memory)
        return functools.partial(
            self.pool.submit,
            planner.plan,
            self.clients.source(flow),
            self.clients.target(flow),
            Planner(config, self.clients, {PlanPart.TOPICS}),
        )


def _target_disks(flow: Flow) -> tuple[LogDir, ...]:
    with ClusterProbe(flow.clients.target_admin, f"isthmus-{flow.name}-disks") as probe:
        return probe.log_dirs()


def _warn_of_offsets(flow: str, reason: str) -> None:
    log.warning("group offsets not translated", flow=flow, reason=reason)


def _close_after(running: list[Future[TaskOutcome]], syncs: GroupSyncs) -> None:
    wait(running, _OLD_RUNS_S)
    syncs.close()
