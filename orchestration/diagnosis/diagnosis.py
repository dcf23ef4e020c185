"""Asks machine and clusters, and puts all findings together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from orchestration.diagnosis.addresses import judge_addresses
from orchestration.diagnosis.cluster import Use, judge_cluster
from orchestration.diagnosis.copied_topics import copied_topics
from orchestration.diagnosis.finding import DiagnosisFinding, FindingLevel
from orchestration.diagnosis.machine import judge_machine
from orchestration.diagnosis.plan_findings import judge_plan
from orchestration.diagnosis.rights import examples, judge_rights
from orchestration.diagnosis.topic_checks import judge_topics
from orchestration.flows.observation.time_limit import in_time
from orchestration.flows.plans import target_plans
from replication.adapters.auth.client_config import to_kafka_python, user_of
from replication.adapters.clients import KafkaClients
from replication.adapters.probes.address_probe import probe_address
from replication.adapters.probes.cluster_probe import ClusterProbe
from replication.client.cluster_facts import AddressFacts, ConnectionStep
from replication.clock import now_ms
from replication.errors import ClusterRejected, ConfigError, ReplicationError
from replication.planning.topic_plan import CreateTopic
from replication.recovery.drill_acls import needed_with_drills
from replication.state import COMPACT, PRODUCERS_TOPIC, flow_topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from replication.client.admin import ClusterAdmin
    from replication.client.cluster_facts import GrantedOperations
    from replication.planning.planner import TargetPlan
    from replication.planning.required_acls import RequiredAcl
    from replication.planning.source_snapshot import SourceSnapshot
    from replication.settings.config import Config

PATIENCE_S = 30.0  # for all addresses of a cluster
MOST_ADDRESSES = 50  # of brokers, that are connected to one by one
_CONNECTION = ("bootstrap.", "security.", "sasl.", "ssl.")


class ClusterLogin(NamedTuple):
    """One way in which flows connect to a cluster."""

    cluster: str
    properties: Mapping[str, str]


@dataclass(slots=True)
class Diagnosis:
    """Looks at everything once. ``tell`` is called with what is looked at now."""

    config: Config
    state_directory: Path
    tell: Callable[[str], object] = lambda _: None
    _answering: set[str] = field(default_factory=set)

    def findings(self) -> Iterator[DiagnosisFinding]:
        """Yield all findings. Nothing is written to a cluster."""
        self.tell("this machine")
        yield from judge_machine(self.state_directory)
        logins = _logins(self.config)
        for alias in self.config.clusters:
            yield from self._connections([each for each in logins if each.cluster == alias])
        for use in _uses(self.config):
            if use.cluster in self._answering:
                yield from self._cluster(use, logins)
        flows = [
            each.name for each in self.config.flows if {each.source, each.target} <= self._answering
        ]
        if flows:
            yield from self._flows(flows)

    # -- connections -------------------------------------------------------------------------

    def _connections(self, logins: Sequence[ClusterLogin]) -> Iterator[DiagnosisFinding]:
        """Yield findings about the bootstrap addresses, by each login that flows use."""
        for each in logins:
            self.tell(f"connections to {each.cluster}")
            where = f"cluster {each.cluster}"
            try:
                config = to_kafka_python(each.properties)
            except ConfigError as error:
                yield DiagnosisFinding(
                    FindingLevel.ERROR, where, "settings", str(error), "correct the file"
                )
                self._answering.discard(each.cluster)
                return
            found = _probed(config["bootstrap_servers"], config)
            yield from judge_addresses(where, found, now_ms())
            if not any(one.failed is None for one in found):
                self._answering.discard(each.cluster)
                return
            self._answering.add(each.cluster)

    def _cluster(self, use: Use, logins: Sequence[ClusterLogin]) -> Iterator[DiagnosisFinding]:
        """Yield findings about a cluster and its brokers."""
        self.tell(f"cluster {use.cluster}")
        login = next(each for each in logins if each.cluster == use.cluster)
        try:
            with ClusterProbe(login.properties) as probe:
                facts = probe.facts()
        except ReplicationError as error:
            yield DiagnosisFinding(
                FindingLevel.ERROR,
                use.where,
                "connection",
                str(error),
                "correct its login settings, or start its brokers; "
                "then run `isthmus doctor FILE` again",
            )
            return
        config = to_kafka_python(login.properties)
        advertised = list(facts.brokers.values())[:MOST_ADDRESSES]
        found = _probed(advertised, config)
        yield from judge_addresses(use.where, found, now_ms(), advertised=True)
        yield from judge_cluster(use, facts, (each.version for each in found if each.version))

    # -- flows -------------------------------------------------------------------------------

    def _flows(self, flows: Sequence[str]) -> Iterator[DiagnosisFinding]:
        self.tell("topics, configs and plans")
        plans = [plan for plan, _ in target_plans(self.config, flows)]
        for plan in plans:
            yield from judge_plan(plan)
        self.tell("rights")
        yield from self._rights(plans)
        clients = KafkaClients()
        for plan in plans:
            yield from self._creation(plan, clients)
            for source in plan.sources:
                self.tell(f"records of {source.flow.name}")
                yield from _copied(plan, source, clients.target(source.flow))

    def _rights(self, plans: Sequence[TargetPlan]) -> Iterator[DiagnosisFinding]:
        topics: dict[tuple[str, str], set[str]] = defaultdict(set)
        for plan in plans:
            for each in plan.sources:
                names = {each.selector.remote_topic(topic) for topic in each.chosen}
                topics[each.flow.source, each.flow.name].update(each.chosen)
                topics[plan.target, each.flow.name].update(names)
        by_login: dict[str, list[RequiredAcl]] = defaultdict(list)
        for need in needed_with_drills(self.config):
            if need.cluster in self._answering:
                by_login[need.cluster].append(need)
        for cluster, needs in by_login.items():
            asked = [
                one
                for need in needs
                for one in examples(need, topics.get((need.cluster, need.flow), ()))
            ]
            yield from judge_rights(needs, topics, self._granted(cluster, asked))

    def _granted(self, cluster: str, asked: Sequence[Any]) -> Sequence[GrantedOperations]:
        login = next(each for each in _logins(self.config) if each.cluster == cluster)
        try:
            with ClusterProbe(login.properties) as probe:
                return probe.grants(asked)
        except ReplicationError:
            return ()  # an older cluster: the plan has said what it refuses

    def _creation(self, plan: TargetPlan, clients: KafkaClients) -> Iterator[DiagnosisFinding]:
        """Yield whether the target would let us create the topics that are missing."""
        if not plan.sources or plan.topics is None:
            return
        flow = plan.sources[0].flow
        target = clients.target(flow)
        missing = [each for each in plan.actions if isinstance(each, CreateTopic)][:1]
        factor = min(flow.state_replication_factor, plan.topics.brokers)
        for name in (*flow_topics(flow.source), PRODUCERS_TOPIC):
            if name not in plan.topics.topics:
                missing.append(CreateTopic(name, 1, factor, {"cleanup.policy": COMPACT}))
                break
        for each in missing:
            yield from _would_create(plan.target, target, each)


def _copied(
    plan: TargetPlan, source: SourceSnapshot, target: ClusterAdmin
) -> Iterator[DiagnosisFinding]:
    flow = source.flow.name
    try:
        topics = copied_topics(plan, source, target)
    except ReplicationError as error:
        what = f"topics and copies could not be compared: {error}"
        to_do = (
            f"run `isthmus doctor FILE` again when {source.flow.source} and {plan.target} answer"
        )
        yield DiagnosisFinding(FindingLevel.WARNING, f"flow {flow}", "topics", what, to_do)
    else:
        yield from judge_topics(flow, topics, now_ms())


def _would_create(
    cluster: str, target: ClusterAdmin, new: CreateTopic
) -> Iterator[DiagnosisFinding]:
    where = f"cluster {cluster}"
    try:
        target.would_create(new.topic, new.partitions, new.replication_factor, new.configs)
    except ClusterRejected as error:
        to_do = "grant CREATE, or change what its policy for new topics refuses"
        yield DiagnosisFinding(FindingLevel.ERROR, where, "topic creation", str(error), to_do)
    else:
        yield DiagnosisFinding(
            FindingLevel.OK, where, "topic creation", f"topic {new.topic} may be created"
        )


def _probed(addresses: Sequence[str], config: Mapping[str, Any]) -> list[AddressFacts]:
    """Connect to all addresses at once; one that takes too long counts as silent."""
    found = in_time(lambda each: probe_address(each, config), addresses, PATIENCE_S)
    silent = f"no response within {PATIENCE_S:g} s"
    return [
        each or AddressFacts(address, ConnectionStep.PORT, silent)
        for address, each in zip(addresses, found, strict=True)
    ]


def _logins(config: Config) -> list[ClusterLogin]:
    """Return each way to connect that flows use, those of admin clients first."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], ClusterLogin] = {}
    for kind in ("admin", "data"):
        for flow in config.flows:
            clients = flow.clients
            ends = (
                ((flow.source, clients.source_admin), (flow.target, clients.target_admin))
                if kind == "admin"
                else (
                    (flow.source, clients.source_consumer),
                    (flow.target, clients.target_producer),
                )
            )
            for alias, properties in ends:
                used = tuple(sorted(e for e in properties.items() if e[0].startswith(_CONNECTION)))
                found.setdefault((alias, used), ClusterLogin(alias, properties))
    return list(found.values())


def _uses(config: Config) -> Iterator[Use]:
    for alias, cluster in config.clusters.items():
        reads = tuple(each for each in config.flows if each.source == alias)
        writes = tuple(each for each in config.flows if each.target == alias)
        user = user_of(cluster.client)
        if reads or writes:
            yield Use(alias, reads, writes, frozenset({user} if user else ()))
