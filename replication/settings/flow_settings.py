"""All settings of one flow."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from replication.model import BY_ID
from replication.settings.copy_settings import CopySettings
from replication.settings.mm2_settings import GroupSettings, Mm2
from replication.settings.naming_settings import Naming, Selection
from replication.settings.section import Section
from replication.settings.setting_key import Key, KeyLevel
from replication.settings.state_policies import Policies
from replication.settings.topic_settings import AclSync, ConfigSync, TopicCreation
from replication.settings.transform_settings import DEAD_LETTER, TopicTransform


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
            "`0 */6 * * *`; empty: no schedule"),
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
            "`predicates.<name>.*` set them", level=KeyLevel.CONNECTOR),
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
            "how flows that keep names distinguish copies from local records of their source: by "
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
            "as `0 3 * * sun`; empty: no schedule ([drills](failover.md#drill))"),
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
            "when Dagster verifies the flow, a cron line in UTC such as `37 2 * * *`; empty: no "
            "schedule ([verification](verification.md#dagster))"),
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
            level=KeyLevel.WORKER),
        Key("offsets.topic.replication.factor", "int",
            "the same; used if neither of the two above is set; ignored below 1",
            level=KeyLevel.FILE),
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
