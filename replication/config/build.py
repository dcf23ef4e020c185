"""Builds the configuration of a whole file from its checked values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from replication.config.file.properties import Value
from replication.config.flow_graph import check_topology
from replication.config.keys.client_keys import HONOURED
from replication.config.keys.connection_keys import CONNECTION
from replication.config.keys.mm2_keys import CONNECTOR, TOPIC_CREATION
from replication.config.keys.own_keys import FLOW
from replication.config.keys.precedence import (
    cluster_properties,
    connector_properties,
    worker_properties,
)
from replication.config.keys.section_keys import field_of
from replication.config.keys.value_checks import ParsedFile, absolute_files
from replication.config.sections.clients import CLIENT_PREFIXES, cluster_client, flow_clients
from replication.config.sections.flow_sections import read_copying, read_selection
from replication.config.sections.metrics import read_metrics
from replication.config.sections.mm2_settings import read_mm2
from replication.config.sections.naming_section import read_naming
from replication.config.sections.schema_registry import read_registry
from replication.config.sections.section_reader import Reader, SettingInForce
from replication.config.sections.task_settings import read_acls, read_configs, read_groups
from replication.config.sections.top_settings import (
    read_alerts,
    read_dagster,
    read_spark,
    read_verification,
)
from replication.config.sections.transforms import read_transforms
from replication.config.security import check_security, login_origins
from replication.naming.topology import drawn
from replication.settings.config import Cluster, Config
from replication.settings.file_settings import BoundedJobs
from replication.settings.flow_settings import Flow, FlowClients
from replication.settings.setting_key import KeyLevel
from replication.settings.state_policies import Policies
from replication.settings.topic_settings import TopicCreation

if TYPE_CHECKING:
    from replication.config.file.findings import Notes
    from replication.config.sections.flows import EnabledFlows, Pair
    from replication.settings.mm2_settings import Mm2

_DECLARED = CONNECTOR.keys() | CONNECTION | FLOW.keys() | TOPIC_CREATION.keys()

Origins = Mapping[str, tuple[SettingInForce, ...]]


def build_config(
    parsed: ParsedFile, plan: EnabledFlows, notes: Notes
) -> tuple[Config | None, Origins]:
    """Return the configuration and where its settings came from; None when it cannot be built."""
    origins: dict[str, tuple[SettingInForce, ...]] = {}
    used = [alias for alias in parsed.aliases if any(alias in pair for pair in plan.pairs)]
    clusters = {alias: _cluster(parsed, alias, notes) for alias in used}
    flows = []
    for pair in plan.pairs:
        flow, trace = _flow(parsed, pair, plan, notes)
        origins["->".join(pair)] = trace
        flows.append(flow)
    check_topology(tuple(flows), parsed.props, notes)
    read = Reader(parsed.path, parsed.props)
    spark, alerts, dagster = read_spark(read), read_alerts(read), read_dagster(read)
    metrics = read_metrics(read, parsed, notes)
    jobs, verification = read.section(BoundedJobs), read_verification(read, parsed, notes)
    origins[""] = tuple(read.trace)
    if any(each is None for each in clusters.values()):
        return None, origins
    known = {alias: each for alias, each in clusters.items() if each is not None}
    config = Config(path=parsed.path, clusters=known, flows=tuple(flows), spark=spark, jobs=jobs,
                    verification=verification, alerts=alerts, metrics=metrics,
                    dagster=dagster)  # fmt: skip
    _mention_conflicts(config, parsed, notes)
    return config, origins


def _mention_conflicts(config: Config, parsed: ParsedFile, notes: Notes) -> None:
    """Note topics that the file names and whose names cannot be used on the target."""
    if notes.has_errors:
        return  # one of their patterns or policies may be invalid
    for each in drawn(config).conflicts:
        key = next((k for k in ("topics.map.file", "topics") if k in parsed.props), "topics")
        notes.warn(parsed.props.get(key, Value("", key)).at, f"will not be copied: {each}")


def _cluster(parsed: ParsedFile, alias: str, notes: Notes) -> Cluster | None:
    settings = cluster_client(parsed.props, parsed.aliases, alias)
    servers = settings.get("bootstrap.servers")
    if servers is None:
        at = parsed.props["clusters"].at
        notes.error(at, f"cluster {alias} has no {alias}.bootstrap.servers",
                    f"{alias}.bootstrap.servers = host:9092")  # fmt: skip
        return None
    check_security(settings, parsed, notes)
    if not isinstance(servers.parsed, tuple):
        return None  # the address was reported when it was checked
    client = _client(parsed, settings)
    return Cluster(alias=alias, bootstrap_servers=servers.parsed, client=client)


def _flow(
    parsed: ParsedFile, pair: Pair, plan: EnabledFlows, notes: Notes
) -> tuple[Flow, tuple[SettingInForce, ...]]:
    props = connector_properties(parsed.props, parsed.aliases, pair, declared=_DECLARED)
    read = Reader(parsed.path, _with_creation(props, parsed, pair[1]))
    clients = flow_clients(parsed.props, parsed.aliases, pair)
    for settings in clients.values():
        check_security(settings, parsed, notes)
    consumer = Reader(parsed.path, clients["source_consumer"])
    flow = read.section(
        Flow,
        source=pair[0],
        target=pair[1],
        selection=read_selection(read, notes),
        naming=read_naming(read, pair, parsed.aliases, merging=plan.merging, notes=notes),
        creation=read.section(TopicCreation),
        configs=read_configs(read),
        acls=read_acls(read),
        copying=read_copying(read, consumer),
        policies=read.section(Policies),
        mm2=_mm2(read, parsed, pair, plan),
        groups=read_groups(read),
        transforms=read_transforms(read, notes),
        registry=read_registry(read, parsed, notes),
        clients=_clients(parsed, clients),
        state_replication_factor=_state_factor(read, parsed, pair),
    )
    _mention_isolation(consumer, pair, notes)
    _mention_decoding(read, flow, notes)
    _mention_schedule(read, flow, notes)
    _check_units(read, flow, notes)
    return flow, (*read.trace, *_client_trace(parsed, clients, consumer))


def _mm2(read: Reader, parsed: ParsedFile, pair: Pair, plan: EnabledFlows) -> Mm2:
    own = worker_properties(parsed.props, parsed.aliases, *pair)
    worker = Reader(parsed.path, own)
    reverse = (pair[1], pair[0]) in plan.pairs
    return read_mm2(read, worker, parsed.props, pair, reverse=reverse)


def _check_units(read: Reader, flow: Flow, notes: Notes) -> None:
    most = flow.copying.units
    if flow.least_units is not None and flow.least_units > most:
        at = read.props["tasks.min"].at
        notes.error(at, f"is more than tasks.max = {most}", "raise tasks.max, or lower tasks.min")


def _mention_isolation(consumer: Reader, pair: Pair, notes: Notes) -> None:
    if "isolation.level" not in consumer.props:
        notes.info(
            (f"{pair[0]}.consumer.isolation.level", 0),
            "is not set; the default is read_committed (MirrorMaker 2: read_uncommitted)",
            "to copy aborted records too, set read_uncommitted",
        )


def _mention_decoding(read: Reader, flow: Flow, notes: Notes) -> None:
    keys = {
        "provenance.headers": flow.provenance_headers,
        "cycle.prevention": flow.cycle_prevention == "headers",
    }
    for key in [key for key, is_set in keys.items() if is_set]:
        notes.info(
            read.props.get(key, Value("", key)).at,
            "decodes and encodes every batch, which costs many times the CPU time of copying "
            "batches unchanged",
        )


def _mention_schedule(read: Reader, flow: Flow, notes: Notes) -> None:
    if flow.batch_schedule and not flow.is_batch:
        notes.warn(
            read.props.get("batch.schedule", Value("", "batch.schedule")).at,
            f"has no effect on {flow.name}, which is a stream",
            f"{flow.name}.mode = batch",
        )


def _clients(parsed: ParsedFile, clients: Mapping[str, Mapping[str, Value]]) -> FlowClients:
    return FlowClients(**{name: _client(parsed, settings) for name, settings in clients.items()})


def _client(parsed: ParsedFile, settings: Mapping[str, Value]) -> dict[str, str]:
    """Return a client's properties as text, and where they are set."""
    path = parsed.path.absolute()
    texts = absolute_files(settings, path.parent, parsed.providers)
    return texts | login_origins(settings, path)


def _with_creation(props: Mapping[str, Value], parsed: ParsedFile, target: str) -> dict[str, Value]:
    """Rank ``target.topic.creation.*`` between the flow's keys and the top level's."""
    own = cluster_properties(parsed.props, parsed.aliases, target)
    given = {key: value for key, value in own.items() if key in TOPIC_CREATION}
    at_top = {
        key: value
        for key, value in props.items()
        if key in TOPIC_CREATION and value is parsed.props.get(key)
    }
    return {**props, **{key: value for key, value in given.items()
                        if key not in props or key in at_top}}  # fmt: skip


def _state_factor(read: Reader, parsed: ParsedFile, pair: Pair) -> int:
    """Return the factor of Isthmus' own topics: ours, else that of Connect's, else of offsets.

    Connect takes -1 for the broker's default, which is no factor that could be capped.
    """
    factor = field_of(Flow, "state_replication_factor")
    worker = worker_properties(parsed.props, parsed.aliases, *pair)
    places = {KeyLevel.FLOW: read.props, KeyLevel.WORKER: worker, KeyLevel.FILE: parsed.props}
    set_ = {
        key.name: found
        for key in factor.keys
        if (found := places[key.level].get(key.name)) is not None
        and isinstance(found.parsed, int)
        and found.parsed >= 1
    }
    inner = Reader(parsed.path, set_)
    result: int = inner.value(factor)
    read.trace += (replace(each, name=factor.keys[0].name) for each in inner.trace)
    return result


def _client_trace(
    parsed: ParsedFile, clients: Mapping[str, Mapping[str, Value]], consumer: Reader
) -> tuple[SettingInForce, ...]:
    """Return the clients' settings; those that were read for the copying come first."""
    start = CLIENT_PREFIXES["source_consumer"]
    seen = [replace(each, name=f"{start}{each.name}") for each in consumer.trace]
    reader = Reader(parsed.path, {})
    for client, settings in clients.items():
        for name in sorted(settings.keys() & (CONNECTION | HONOURED)):
            reader.note(f"{CLIENT_PREFIXES[client]}{name}", settings[name].text, settings[name])
    names = {each.name for each in seen}
    return (*seen, *(each for each in reader.trace if each.name not in names))
