"""The checked configuration: clusters, flows and their settings. Built by ``load_config``."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- pydantic evaluates the annotations
from datetime import timedelta
from pathlib import Path  # noqa: TC003 -- pydantic evaluates the annotations
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from replication.name_map import MappedName  # noqa: TC001 -- pydantic evaluates the annotations
from replication.policies import Policies


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Cluster(Section):
    """One Kafka cluster. ``client``: an admin client's Java properties, placeholders unresolved."""

    alias: str
    bootstrap_servers: tuple[str, ...] = Field(min_length=1)
    client: Mapping[str, str] = Field(
        default={}, repr=False
    )  # admin client: bootstrap.servers, security.*, sasl.*, ssl.*, …


class OwnPolicyClass(Section):
    """A naming policy of the operator's own: see ``replication.own_policy``."""

    written: str  # as in the file: python:package.module:Class
    folder: str  # where its module may be, besides Python's path
    settings: Mapping[str, str] = Field(default={}, repr=False)  # they may hold anything


class RenameRule(Section):
    """``topics.rename.regex`` and ``topics.rename.replacement``, already translated to Python."""

    pattern: str
    replacement: str  # Java dialect: ``$1``, ``${source}``


class Naming(Section):
    """How a source topic is called on the target."""

    kind: Literal["prefix", "identity", "rename", "own"] = "prefix"
    separator: str = "."
    internal_separator: str = "."  # in the names of MirrorMaker 2's own topics
    rename: RenameRule | None = None
    own: OwnPolicyClass | None = None
    mapped: tuple[MappedName, ...] = ()  # beats all of the above for the topics in it
    merge: tuple[str, ...] = ()  # Java regexes of target topics that several topics may go into

    @property
    def prefixes_all(self) -> bool:
        """Whether every copy's name tells where it is from."""
        return self.kind == "prefix" and not self.mapped


class Selection(Section):
    """Which topics and groups take part: Java regexes, matched whole; exclude wins."""

    topics: tuple[str, ...] = (".*",)
    topics_exclude: tuple[str, ...] = (r".*[\-\.]internal", r".*\.replica", r"__.*")
    groups: tuple[str, ...] = (".*",)
    groups_exclude: tuple[str, ...] = (r"console-consumer-.*", r"connect-.*", r"__.*")
    heartbeats: bool = True  # heartbeat topics of MirrorMaker 2 take part whatever ``topics`` says


class TopicCreation(Section):
    """How topics are made on the target."""

    enabled: bool = True
    replication_factor: int = Field(default=2, ge=-1)  # -1: the target broker's default
    default_partitions: int | None = None  # a topic is made with at least so many
    min_insync_replicas: int | None = None
    configs_strategy: Literal["INTERSECTION", "MAJORITY", "FIRST", "NONE"] = "FIRST"


class ConfigSync(Section):
    """Which topic configs follow the source, and how often."""

    enabled: bool = True
    every: timedelta = timedelta(seconds=600)
    exclude: tuple[str, ...] = (  # Java regexes; MirrorMaker 2's, and what is in a copy's way
        r"follower\.replication\.throttled\.replicas",
        r"leader\.replication\.throttled\.replicas",
        r"message\.timestamp\.difference\.max\.ms",
        r"message\.timestamp\.before\.max\.ms",  # else old records are refused
        r"message\.timestamp\.after\.max\.ms",
        r"message\.timestamp\.type",
        r"unclean\.leader\.election\.enable",
        r"min\.insync\.replicas",
    )
    defaults_from: Literal["source", "target"] = "target"
    overrides: tuple[tuple[str, str, str], ...] = ()  # topic regex, config, value; "": the default


class AclSync(Section):
    """Which rights follow the source's, and how often."""

    enabled: bool = True
    every: timedelta = timedelta(seconds=600)
    groups: bool = False  # rights on consumer groups too
    delete: bool = False  # take away what we made and the source no longer has


class CopySettings(Section):
    """How the append engine works for a flow."""

    units: int = Field(default=1, ge=1)  # tasks.max
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed"
    buffer_bytes: int = Field(default=64 << 20, ge=1 << 20)  # read-ahead of one unit
    epoch: timedelta = timedelta(seconds=30)
    anchor_every: timedelta = timedelta(seconds=1)
    start: str = "earliest"  # or latest, or a time stamp in ms
    start_offsets: Mapping[str, Mapping[int, int]] = {}  # topic -> partition -> source offset
    client_rack: str = ""
    refresh_topics_every: timedelta = timedelta(seconds=2)
    bytes_per_second: int = Field(default=0, ge=0)  # of the whole flow; 0: no limit
    priority_topics: tuple[str, ...] = ()  # Java regexes; these catch up first
    delivery: Literal["auto", "append", "transactional", "at-least-once"] = "auto"


class Heartbeats(Section):
    """The signs of life that MirrorMaker 2 writes; ``back`` those of the pair target->source too.

    A flow's own stand on the target. Those of the way back stand on the source, where this flow
    copies them from: they show how old what arrives is, and need the right to write there.
    """

    enabled: bool = True
    every: timedelta = timedelta(seconds=1)
    replication_factor: int = 3  # of the topic, capped at the brokers that there are
    back: bool = False


class OffsetSyncs(Section):
    """Pairs of offsets for MirrorMaker 2's checkpoint connector; ours needs none.

    ``source`` needs the right to write there, so they are written only if the file asks for them.
    """

    enabled: bool = False
    location: Literal["source", "target"] = "source"
    replication_factor: int = 3


class Checkpoints(Section):
    """Where each group of the source stands, in terms of the target."""

    enabled: bool = True
    every: timedelta = timedelta(seconds=60)
    replication_factor: int = 3


class Mm2(Section):
    """What is written in MirrorMaker 2's formats, and where its own state is."""

    heartbeats: Heartbeats = Heartbeats()
    syncs: OffsetSyncs = OffsetSyncs()
    checkpoints: Checkpoints = Checkpoints()
    offsets_topic: str = ""  # of its Connect worker, on the target
    worker_group: str = ""  # in which its workers meet, on the target


class GroupSettings(Section):
    """Whether the positions of the source's consumer groups are committed on the target."""

    sync: bool = False  # as MirrorMaker 2: people must ask for it
    every: timedelta = timedelta(seconds=5)


class FlowClients(Section):
    """Effective Java client properties of each client of a flow, as MirrorMaker 2 resolves them."""

    source_consumer: Mapping[str, str] = Field(repr=False)  # they may hold passwords
    source_admin: Mapping[str, str] = Field(repr=False)
    target_producer: Mapping[str, str] = Field(repr=False)
    target_admin: Mapping[str, str] = Field(repr=False)


class Flow(Section):
    """Copies topics from one cluster to another."""

    source: str
    target: str
    selection: Selection = Selection()
    naming: Naming = Naming()
    creation: TopicCreation = TopicCreation()
    configs: ConfigSync = ConfigSync()
    acls: AclSync = AclSync()
    copying: CopySettings = CopySettings()
    policies: Policies = Policies()
    mm2: Mm2 = Mm2()
    groups: GroupSettings = GroupSettings()
    clients: FlowClients
    cycle_prevention: Literal["producer-id", "headers", "names"] = "producer-id"
    provenance_headers: bool = False  # stamp records with where they were born
    lag_sla: timedelta = timedelta(seconds=60)
    state_replication_factor: int = 3  # of Isthmus' own topics, capped at the target's brokers

    @property
    def name(self) -> str:
        """``A->B``, as MM2 writes it."""
        return f"{self.source}->{self.target}"


class SparkSettings(Section):
    """Where the Spark applications run."""

    master: str = "local[*]"
    application: Literal["per-target", "per-flow"] = "per-target"
    conf: Mapping[str, str] = {}


class Alerts(Section):
    """Where alerts go besides the log."""

    webhook_url: str | None = Field(default=None, repr=False)  # such addresses hold a token


class MetricsSettings(Section):
    """Where the drivers' figures are served for Prometheus, and how finely."""

    port: int | None = None  # of the first application, see supervision.metrics_port; None: nowhere
    host: str = "0.0.0.0"  # noqa: S104 -- whoever scrapes is elsewhere, and was asked for
    detail: Literal["flow", "topic", "partition"] = "topic"


class Config(Section):
    """A whole file, checked."""

    path: Path
    clusters: Mapping[str, Cluster]
    flows: tuple[Flow, ...]
    spark: SparkSettings = SparkSettings()
    alerts: Alerts = Alerts()
    metrics: MetricsSettings = MetricsSettings()

    def flow(self, name: str) -> Flow:
        """Return the flow called ``A->B``. Raises KeyError."""
        return next(each for each in self.flows if each.name == name)

    def flows_into(self, target: str) -> tuple[Flow, ...]:
        """Return the flows that one Spark application hosts when it is ``per-target``."""
        return tuple(each for each in self.flows if each.target == target)
