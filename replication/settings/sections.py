"""The checked configuration: clusters, flows and their settings. Built by ``load_config``."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- pydantic evaluates the annotations
from datetime import timedelta
from pathlib import Path  # noqa: TC003 -- pydantic evaluates the annotations
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from replication.model import BY_ID
from replication.settings.copy_settings import CopySettings
from replication.settings.otlp_settings import OtlpSettings
from replication.settings.setting_key import Derived, Key, Level
from replication.settings.state_policies import Policies
from replication.settings.transform_settings import DEAD_LETTER, TopicTransform


class MappedName(NamedTuple):
    """One line of a map file: the target name of ``topic`` of ``source``."""

    source: str | None  # None: of any
    topic: str
    target: str
    line: int = 0


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
    """A custom naming policy: see ``replication.naming.custom_policy``."""

    written: str  # as in the file: python:package.module:Class
    folder: str  # where its module may be, besides Python's path
    settings: Mapping[str, str] = Field(default={}, repr=False)  # they may hold anything


class RenameRule(Section):
    """``topics.rename.regex`` and ``topics.rename.replacement``, already translated to Python."""

    pattern: str
    replacement: str  # Java dialect: ``$1``, ``${source}``


class Naming(Section):
    """How target names of topics are built."""

    kind: Annotated[
        Literal["prefix", "identity", "rename", "own"],
        Key("replication.policy.class", "string",
            "`A.orders`; or `IdentityReplicationPolicy`: `orders`; or "
            "`python:package.module:Class`, [a custom policy](naming.md#a-custom-policy)",
            level=Level.CONNECTOR, default="`DefaultReplicationPolicy`"),
    ] = "prefix"  # fmt: skip
    own: Annotated[
        OwnPolicyClass | None,
        Key("replication.policy.config.*", "string", "passed to a custom policy"),
    ] = None
    separator: Annotated[
        str,
        Key("replication.policy.separator", "string",
            "between source alias and topic; must not be empty with prefixes",
            level=Level.CONNECTOR),
    ] = "."  # fmt: skip
    internal_separator: Annotated[
        str,
        Key("replication.policy.internal.topic.separator.enabled", "boolean",
            "use the separator in the names of checkpoint and offset-sync topics too; `false`: "
            "use dots", level=Level.CONNECTOR, default="`true`"),
    ] = "."  # in the names of MirrorMaker 2's own topics  # fmt: skip
    rename: Annotated[
        RenameRule | None,
        Key("topics.rename.regex", "string",
            "a pattern for whole names; a topic that does not match keeps its name",
            default="`(.+)`"),
        Key("topics.rename.replacement", "string",
            "in Java's syntax: `$1`, `${name}` for groups, `\\$` for a dollar; also `${source}`, "
            "`${target}`; `${clusters.A}` is A's alias and limits the rule to flows from A"),
    ] = None  # fmt: skip
    mapped: Annotated[
        tuple[MappedName, ...],
        Key("topics.map.file", "string",
            "a file with lines `source-topic = target-topic`, which override all of the above; "
            "[details](naming.md#a-map-file)"),
    ] = ()  # fmt: skip
    held: Annotated[
        tuple[MappedName, ...], Derived("former names that topics keep: naming.name_changes")
    ] = ()
    merge: Annotated[
        tuple[str, ...],
        Key("topics.merge", "patterns",
            "patterns of target topics that may merge several source topics although no single "
            "rule names them"),
    ] = ()  # fmt: skip

    @property
    def prefixes_all(self) -> bool:
        """Whether the name of every copy shows its source."""
        return self.kind == "prefix" and not self.mapped and not self.held


class Selection(Section):
    """Which topics and groups are selected: Java regexes for whole names; exclusions win."""

    topics: Annotated[
        tuple[str, ...],
        Key("topics", "patterns", "which topics are copied", level=Level.CONNECTOR),
        Key("topics.regex", "pattern", "one pattern instead of `topics`; commas are part of it"),
    ] = (".*",)  # fmt: skip
    topics_exclude: Annotated[
        tuple[str, ...],
        Key("topics.exclude", "patterns", "which topics are not copied", level=Level.CONNECTOR),
    ] = (r".*[\-\.]internal", r".*\.replica", r"__.*")
    groups: Annotated[
        tuple[str, ...],
        Key("groups", "patterns", "which groups belong to the flow", level=Level.CONNECTOR),
    ] = (".*",)
    groups_exclude: Annotated[
        tuple[str, ...],
        Key("groups.exclude", "patterns", "which groups do not", level=Level.CONNECTOR),
    ] = (r"console-consumer-.*", r"connect-.*", r"__.*")
    heartbeats: Annotated[
        bool,
        Key("heartbeats.replication.enabled", "boolean",
            "copy heartbeat topics whether `topics` matches them or not", level=Level.CONNECTOR),
    ] = True  # fmt: skip


class TopicCreation(Section):
    """How topics are created on the target."""

    enabled: Annotated[
        bool,
        Key("topic.creation.enable", "boolean", "create missing topics", level=Level.CREATION),
    ] = True  # fmt: skip
    replication_factor: Annotated[
        int,
        Key("replication.factor", "int",
            "replication factor of copies; `-1`: the target's default",
            least=-1, level=Level.CONNECTOR),
        Key("topic.creation.replication.factor", "int", "the same; `replication.factor` wins",
            least=-1, level=Level.CREATION),
        Key("topic.creation.default.replication.factor", "int",
            "the same; used if neither of the two above is set", least=-1, level=Level.CREATION),
    ] = 2  # -1: the target broker's default  # fmt: skip
    default_partitions: Annotated[
        int | None,
        Key("topic.creation.default.partitions", "int",
            "minimum number of partitions at creation; afterwards a topic grows with its source",
            least=1, level=Level.CREATION),
    ] = None  # fmt: skip
    min_insync_replicas: Annotated[
        int | None,
        Key("topic.creation.min.insync.replicas", "int", "`min.insync.replicas` of copies",
            least=1, level=Level.CREATION),
    ] = None  # fmt: skip
    configs_strategy: Annotated[
        Literal["INTERSECTION", "MAJORITY", "FIRST", "NONE"],
        Key("sync.topic.configs.strategy", "choice",
            "for merged topics whose sources differ: `INTERSECTION`, `MAJORITY`, `FIRST` (in "
            "the file's order), `NONE` (no config is copied)"),
    ] = "FIRST"  # fmt: skip


class ConfigSync(Section):
    """Which topic configs follow the source, and how often."""

    enabled: Annotated[
        bool,
        Key("sync.topic.configs.enabled", "boolean",
            "sync configs after creation", level=Level.CONNECTOR),
    ] = True  # fmt: skip
    every: Annotated[
        timedelta,
        Key("sync.topic.configs.interval.seconds", "interval",
            "interval; a minute or longer: Dagster syncs, shorter: the driver; below zero: never",
            level=Level.CONNECTOR),
    ] = timedelta(seconds=600)  # fmt: skip
    exclude: Annotated[
        tuple[str, ...],
        Key("config.properties.exclude", "patterns",
            "patterns of configs that are neither copied nor changed",
            level=Level.CONNECTOR,
            default="MirrorMaker 2's list, `message.timestamp.before.max.ms`, "
            "`message.timestamp.after.max.ms`"),
    ] = (  # Java regexes; MirrorMaker 2's, and what is in a copy's way
        r"follower\.replication\.throttled\.replicas",
        r"leader\.replication\.throttled\.replicas",
        r"message\.timestamp\.difference\.max\.ms",
        r"message\.timestamp\.before\.max\.ms",  # else old records are rejected
        r"message\.timestamp\.after\.max\.ms",
        r"message\.timestamp\.type",
        r"unclean\.leader\.election\.enable",
        r"min\.insync\.replicas",
    )  # fmt: skip
    defaults_from: Annotated[
        Literal["source", "target"],
        Key("use.defaults.from", "choice",
            "`source`: set the source's defaults, also its cluster-wide ones, on the copy too",
            level=Level.CONNECTOR),
    ] = "target"  # fmt: skip
    overrides: Annotated[
        tuple[tuple[str, str, str], ...],
        Key("topic.config.*", "string",
            "`topic.config.<topic regex>/<config>`: value for the copies of these source "
            "topics, whatever the source has; empty: the target's default. Later lines win"),
    ] = ()  # topic regex, config, value; "": the default  # fmt: skip


class AclSync(Section):
    """Which ACLs follow the source's, and how often."""

    enabled: Annotated[
        bool,
        Key("sync.topic.acls.enabled", "boolean",
            "sync the ACLs of topics to their copies", level=Level.CONNECTOR),
    ] = True  # fmt: skip
    every: Annotated[
        timedelta,
        Key("sync.topic.acls.interval.seconds", "interval", "as for configs",
            level=Level.CONNECTOR),
    ] = timedelta(seconds=600)  # fmt: skip
    groups: Annotated[
        bool, Key("sync.group.acls.enabled", "boolean", "sync the ACLs of consumer groups too")
    ] = False
    delete: Annotated[
        bool,
        Key("sync.topic.acls.delete", "boolean",
            "delete ACLs that Isthmus created and the source no longer has"),
    ] = False  # fmt: skip


class Heartbeats(Section):
    """Heartbeats in MirrorMaker 2's format; ``back``: also those of the pair target->source.

    A flow's own heartbeats are on the target. Those of the reverse direction are on the source,
    from where this flow copies them: they show the replication latency, and need WRITE there.
    """

    enabled: Annotated[
        bool,
        Key("emit.heartbeats.enabled", "boolean",
            "a heartbeat of A->B every second in `heartbeats` on B", level=Level.CONNECTOR),
    ] = True  # fmt: skip
    every: Annotated[
        timedelta,
        Key("emit.heartbeats.interval.seconds", "interval",
            "interval; below zero: never", level=Level.CONNECTOR),
    ] = timedelta(seconds=1)  # fmt: skip
    replication_factor: Annotated[
        int,
        Key("heartbeats.topic.replication.factor", "int",
            "replication factor of that topic", least=-1, level=Level.CONNECTOR),
    ] = 3  # capped at the brokers that there are  # fmt: skip
    back: Annotated[bool, Derived("emit.heartbeats.enabled of B->A, where no flow is")] = False


class OffsetSyncs(Section):
    """Pairs of offsets for MirrorMaker 2's checkpoint connector; ours needs none.

    On the ``source`` they need WRITE, so they are written only if the file enables them.
    """

    enabled: Annotated[
        bool,
        Key("emit.offset-syncs.enabled", "boolean",
            "write offset pairs every 5 s, for MirrorMaker 2's checkpoint connector; `true` if "
            "a location is set", level=Level.CONNECTOR),
    ] = False  # fmt: skip
    location: Annotated[
        Literal["source", "target"],
        Key("offset-syncs.topic.location", "choice",
            "cluster of the offset-sync topic: `source` or `target`", level=Level.CONNECTOR),
    ] = "source"  # fmt: skip
    replication_factor: Annotated[
        int,
        Key("offset-syncs.topic.replication.factor", "int",
            "replication factor of that topic", least=-1, level=Level.CONNECTOR),
    ] = 3  # fmt: skip


class Checkpoints(Section):
    """The translated offsets of the source's groups."""

    enabled: Annotated[
        bool,
        Key("emit.checkpoints.enabled", "boolean",
            "write the translated offsets of each selected group to `A.checkpoints.internal` on B",
            level=Level.CONNECTOR),
    ] = True  # fmt: skip
    every: Annotated[
        timedelta,
        Key("emit.checkpoints.interval.seconds", "interval",
            "interval; below zero: never", level=Level.CONNECTOR),
    ] = timedelta(seconds=60)  # fmt: skip
    replication_factor: Annotated[
        int,
        Key("checkpoints.topic.replication.factor", "int",
            "replication factor of that topic", least=-1, level=Level.CONNECTOR),
    ] = 3  # fmt: skip


class Mm2(Section):
    """What is written in MirrorMaker 2's formats, and where its own state is."""

    heartbeats: Heartbeats = Heartbeats()
    syncs: OffsetSyncs = OffsetSyncs()
    checkpoints: Checkpoints = Checkpoints()
    offsets_topic: Annotated[
        str,
        Key("offset.storage.topic", "string",
            "topic in which `isthmus takeover` finds MirrorMaker 2's offsets; the key at the "
            "top level overrides the cluster's",
            level=Level.WORKER, default="`mm2-offsets.A.internal`"),
    ] = ""  # of its Connect worker, on the target  # fmt: skip
    worker_group: Annotated[
        str,
        Key("group.id", "string",
            "group of MirrorMaker 2's workers; it has no members when MirrorMaker 2 is stopped",
            level=Level.WORKER, default="`A-mm2`"),
    ] = ""  # the consumer group of its workers, on the target  # fmt: skip


class GroupSettings(Section):
    """Whether the translated offsets of consumer groups are committed on the target."""

    sync: Annotated[
        bool,
        Key("sync.group.offsets.enabled", "boolean",
            "commit the groups' translated offsets on the target ([details](offsets.md))",
            level=Level.CONNECTOR),
    ] = False  # as MirrorMaker 2: off by default  # fmt: skip
    every: Annotated[
        timedelta,
        Key("sync.group.offsets.interval.seconds", "interval",
            "interval; MirrorMaker 2: 60; below zero: never", level=Level.CONNECTOR),
    ] = timedelta(seconds=5)  # fmt: skip


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
    mode: Annotated[
        Literal["stream", "batch"],
        Key("mode", "choice",
            "`stream`: copies always; `batch`: each run copies what the source has when it begins, "
            "and ends ([batch flows](batch.md))"),
    ] = "stream"  # fmt: skip
    batch_schedule: Annotated[
        str,
        Key("batch.schedule", "cron",
            "when Dagster runs the flow if `mode = batch`, a cron line in UTC such as "
            "`0 */6 * * *`; empty: never by itself"),
    ] = ""  # fmt: skip
    batch_max_age: Annotated[
        timedelta,
        Key("batch.max.age", "interval",
            "maximum age of the last run that copied all, if `mode = batch`, such as `12h`; beyond "
            "it the check `batch_age` fails and the flow is not healthy; `0`: there is no such "
            "check", default="`0`"),
    ] = timedelta(0)  # fmt: skip
    selection: Selection = Selection()
    naming: Naming = Naming()
    creation: TopicCreation = TopicCreation()
    configs: ConfigSync = ConfigSync()
    acls: AclSync = AclSync()
    copying: CopySettings = CopySettings()
    least_units: Annotated[
        int | None,
        Key("tasks.min", "int",
            "least number of units: between it and `tasks.max` the number "
            "[follows their load](production.md#units)", least=1, default="as `tasks.max`"),
    ] = None  # fmt: skip
    policies: Policies = Policies()
    mm2: Mm2 = Mm2()
    groups: GroupSettings = GroupSettings()
    transforms: Annotated[
        tuple[TopicTransform, ...],
        Key("transform.*", "string",
            "`transform.<topic regex>/<what>`: changes the records of these topics on their way; "
            "[transforms](transforms.md) has the list"),
        Key("transforms", "list",
            "Connect's single message transforms, as `transforms.<name>.*` and "
            "`predicates.<name>.*` set them", level=Level.CONNECTOR),
    ] = ()  # fmt: skip
    registry: Annotated[
        Mapping[str, str],
        Key("schema.registry.url", "string",
            "where schemas of values in Avro are, for [transforms](transforms.md#avro); of several "
            "the first one that answers is asked"),
        Key("schema.registry.basic.auth.user.info", "string", "`user:password`"),
        Key("schema.registry.ssl.truststore.location", "string",
            "whose certificates are trusted, as for Kafka's clients"),
        Key("schema.registry.ssl.truststore.type", "string", "`JKS`, `PKCS12` or `PEM`"),
        Key("schema.registry.ssl.truststore.password", "string", "of a JKS or PKCS12 store"),
        Key("schema.registry.ssl.truststore.certificates", "string", "PEM text instead of a file"),
        Key("schema.registry.ssl.keystore.location", "string",
            "the client's own certificate and key"),
        Key("schema.registry.ssl.keystore.type", "string", "`JKS`, `PKCS12` or `PEM`"),
        Key("schema.registry.ssl.keystore.password", "string", "of a JKS or PKCS12 store"),
        Key("schema.registry.ssl.keystore.key", "string", "PEM text instead of a file"),
        Key("schema.registry.ssl.keystore.certificate.chain", "string",
            "PEM text of the key's certificates"),
        Key("schema.registry.ssl.key.password", "string", "of an encrypted key"),
        Key("schema.registry.ssl.endpoint.identification.algorithm", "string",
            "empty: any host name will do"),
    ] = Field(default={}, repr=False)  # may hold passwords  # fmt: skip
    clients: FlowClients
    cycle_prevention: Annotated[
        Literal["producer-id", "headers", "names"],
        Key("cycle.prevention", "choice",
            "how flows that keep names tell copies from local records of their source: by "
            "producer id; `headers`: by the headers that `provenance.headers`, MSK Replicator "
            "and Redpanda Migrator write, which decodes all records; `names`: not at all"),
    ] = BY_ID  # fmt: skip
    provenance_headers: Annotated[
        bool,
        Key("provenance.headers", "boolean",
            "add a header `isthmus.origin` with `alias/cluster id/topic/partition/offset` of "
            "the origin to each record; decodes all records"),
    ] = False  # fmt: skip
    lag_sla: Annotated[
        timedelta,
        Key("lag.sla.seconds", "duration",
            "maximum age of a record that is not copied; beyond it the lag check fails"),
    ] = timedelta(seconds=60)  # fmt: skip
    lag_sla_records: Annotated[
        int | None,
        Key("lag.sla.records", "int",
            "maximum number of records of the flow that are not copied; beyond it the lag check "
            "fails", least=0),
    ] = None  # fmt: skip
    lag_sla_topics: Annotated[
        Mapping[str, timedelta | None],
        Key("lag.sla.topics", "topic-limits",
            "source topics, by name, that have an asset and a lag check of their own in Dagster; "
            "`orders:5`: with a limit of 5 s instead of `lag.sla.seconds`"),
    ] = {}  # fmt: skip
    owners: Annotated[
        tuple[str, ...],
        Key("owners", "owners",
            "who operates the flow, shown in Dagster: e-mail addresses, `team:name`"),
    ] = ()  # fmt: skip
    rpo_slo: Annotated[
        timedelta,
        Key("rpo.slo.seconds", "duration",
            "maximum age of a record that a failover would lose; beyond it the check `rpo_slo` "
            "fails"),
    ] = timedelta(seconds=60)  # fmt: skip
    drill_schedule: Annotated[
        str,
        Key("drill.schedule", "cron",
            "when Dagster practises a failover and a failback of the flow, a cron line in UTC such "
            "as `0 3 * * sun`; empty: never by itself ([drills](failover.md#drill))"),
    ] = ""  # fmt: skip
    drill_max_age: Annotated[
        timedelta,
        Key("drill.max.age", "interval",
            "maximum age of the last good drill, such as `30d`; beyond it the check `drill_age` "
            "fails; `0`: there is no such check", default="`0`"),
    ] = timedelta(0)  # fmt: skip
    verify_schedule: Annotated[
        str,
        Key("verify.schedule", "cron",
            "when Dagster verifies the flow, a cron line in UTC such as `37 2 * * *`; empty: never "
            "by itself ([verification](verification.md#dagster))"),
    ] = ""  # fmt: skip
    verify_max_age: Annotated[
        timedelta,
        Key("verify.max.age", "interval",
            "maximum age of the last good [verification](verification.md), such as `7d`; beyond "
            "it, or if the last one found a difference, the check `verified_age` fails; `0`: there "
            "is no such check", default="`0`"),
    ] = timedelta(0)  # fmt: skip
    state_replication_factor: Annotated[
        int,
        Key("isthmus.topics.replication.factor", "int",
            "replication factor of Isthmus' own topics", least=1),
        Key("offset.storage.replication.factor", "int",
            "the same; used if `isthmus.topics.replication.factor` is not set; ignored below 1",
            level=Level.WORKER),
        Key("offsets.topic.replication.factor", "int",
            "the same; used if neither of the two above is set; ignored below 1",
            level=Level.FILE),
    ] = 3  # capped at the target's brokers  # fmt: skip

    @property
    def name(self) -> str:
        """``A->B``, as MM2 writes it."""
        return f"{self.source}->{self.target}"

    @property
    def is_batch(self) -> bool:
        """Whether it is copied in runs that end, and not always."""
        return self.mode == "batch"

    @property
    def writes_dead_letters(self) -> bool:
        """Whether records may go to the dead-letter topic: refused ones, or poison records."""
        policies = (each.on_error for each in self.transforms)
        return self.policies.dead_letters or DEAD_LETTER in policies


class SparkSettings(Section):
    """Where the Spark applications run."""

    master: Annotated[
        str,
        Key("spark.master", "string", "where the Spark applications run", level=Level.FILE),
    ] = "local[*]"
    application: Annotated[
        Literal["per-target", "per-flow"],
        Key("spark.application", "choice",
            "one application per target cluster, or `per-flow`", level=Level.FILE),
    ] = "per-target"  # fmt: skip
    conf: Annotated[
        Mapping[str, str],
        Key("spark.conf.*", "string", "passed to Spark without the prefix", level=Level.FILE),
    ] = Field(default={}, repr=False)  # may hold passwords


class BoundedJobs(Section):
    """What a Spark job that ends by itself may use, beside the streams: ``isthmus verify``."""

    cores: Annotated[
        int,
        Key("jobs.cores", "int", "Spark task slots of a job that ends, such as `isthmus verify`",
            least=1, level=Level.FILE),
    ] = 1  # fmt: skip
    memory_bytes: Annotated[
        int,
        Key("jobs.memory", "bytes",
            "heap of such a job's JVM: of its driver where `spark.master` is `local`, else of "
            "each executor", least=512 << 20, level=Level.FILE),
    ] = 512 << 20  # Spark refuses less than 450 MiB  # fmt: skip


class VerificationSettings(Section):
    """How copies are verified, and how long reports are kept."""

    range_bytes: Annotated[
        int,
        Key("verification.range.bytes", "bytes", "size of the ranges that are compared, each by "
            "one Spark task", least=1 << 20, level=Level.FILE),
    ] = 64 << 20  # fmt: skip
    reports: Annotated[
        str | None,
        Key("reports.directory", "string", "directory of reports, an absolute path",
            level=Level.FILE, default="`reports` in the state directory"),
    ] = None  # fmt: skip
    reports_kept: Annotated[
        timedelta,
        Key("reports.retention.seconds", "duration", "age at which reports are deleted",
            level=Level.FILE),
    ] = timedelta(days=30)  # fmt: skip


class Alerts(Section):
    """Where alerts go besides the log."""

    urls: Annotated[
        tuple[str, ...],
        Key("alert.urls", "urls",
            "URLs of [Apprise](alerts.md#channels), separated by commas: Slack, PagerDuty, "
            "e-mail, Teams and others", level=Level.FILE),
    ] = Field(default=(), repr=False)  # they hold tokens and passwords  # fmt: skip
    runbooks: Annotated[
        str,
        Key("alert.runbooks.url", "string",
            "address of the page of runbooks, for the links in alerts", level=Level.FILE),
    ] = "docs/runbooks.md"  # fmt: skip

    webhook_url: Annotated[
        str | None,
        Key("alert.webhook.url", "string",
            "URL to which alerts are posted, besides the log", level=Level.FILE),
    ] = Field(default=None, repr=False)  # such addresses hold a token  # fmt: skip


class DagsterSettings(Section):
    """What Dagster loads beside the definitions of the flows."""

    definitions: Annotated[
        tuple[str, ...],
        Key("dagster.definitions", "list",
            "Python modules whose Dagster definitions are loaded beside those of the flows: their "
            "assets may depend on those of flows and topics ([an example](hybrid.md))",
            level=Level.FILE),
    ] = ()  # fmt: skip


class MetricsSettings(Section):
    """Where the drivers' figures are served for Prometheus or pushed to, and how finely."""

    port: Annotated[
        int | None,
        Key("metrics.port", "port",
            "serve [metrics](metrics.md) for Prometheus: the first application on this port, "
            "the others on the next ones; `0`: any free port", level=Level.FILE),
    ] = None  # see supervision.metrics_port; None: nowhere  # fmt: skip
    host: Annotated[
        str,
        Key("metrics.host", "string",
            "listen address; `0.0.0.0`: every IPv4 address of this machine", level=Level.FILE),
    ] = "127.0.0.1"  # fmt: skip
    detail: Annotated[
        Literal["flow", "topic", "partition"],
        Key("metrics.detail", "choice",
            "`flow`, `topic` or `partition`: labels of the record metrics", level=Level.FILE),
    ] = "topic"  # fmt: skip
    certificate: Annotated[
        str | None,
        Key("metrics.ssl.certificate.location", "string",
            "PEM file: serve metrics with TLS, with this certificate chain", level=Level.FILE),
    ] = None  # fmt: skip
    key: Annotated[
        str | None,
        Key("metrics.ssl.key.location", "string",
            "PEM file with the certificate's private key, if it is another file", level=Level.FILE),
    ] = None  # fmt: skip
    client_ca: Annotated[
        str | None,
        Key("metrics.ssl.ca.location", "string",
            "PEM file: only clients with a certificate of these CAs are served", level=Level.FILE),
    ] = None  # fmt: skip
    user: Annotated[
        str | None,
        Key("metrics.user", "string", "serve metrics after this login alone (basic "
            "authentication)", level=Level.FILE),
    ] = None  # fmt: skip
    password: Annotated[
        str | None,
        Key("metrics.password", "string", "password of `metrics.user`", level=Level.FILE),
    ] = Field(default=None, repr=False)  # fmt: skip
    otlp: OtlpSettings = OtlpSettings()


class Config(Section):
    """A whole file, checked."""

    path: Path
    clusters: Mapping[str, Cluster]
    flows: tuple[Flow, ...]
    spark: SparkSettings = SparkSettings()
    jobs: BoundedJobs = BoundedJobs()
    verification: VerificationSettings = VerificationSettings()
    alerts: Alerts = Alerts()
    metrics: MetricsSettings = MetricsSettings()
    dagster: DagsterSettings = DagsterSettings()
    warnings: tuple[str, ...] = ()  # about the file, each with file:line, key and what to do

    def flow(self, name: str) -> Flow:
        """Return the flow called ``A->B``. Raises KeyError."""
        return next(each for each in self.flows if each.name == name)

    def flow_back(self, flow: Flow) -> Flow | None:
        """Return the flow from the target of ``flow`` to its source, if there is one."""
        ends = flow.target, flow.source
        return next((each for each in self.flows if (each.source, each.target) == ends), None)

    def flows_into(self, target: str) -> tuple[Flow, ...]:
        """Return the flows that one Spark application hosts when it is ``per-target``."""
        return tuple(each for each in self.flows if each.target == target)
