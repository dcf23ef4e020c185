"""The settings of Kafka's Java clients besides the connection names, and which Isthmus uses."""

from __future__ import annotations

from replication.config.file.values import SECURITY_PROTOCOLS
from replication.config.keys.connection_keys import (
    CONNECTION,
    CONNECTION_WITHOUT_EFFECT,
    names,
)
from replication.config.keys.section_keys import known
from replication.settings.setting_key import KeyLevel

KINDS = ("consumer", "producer", "admin")


# Settings that reach our clients or the copier besides the connection names.
HONOURED = known(KeyLevel.CONSUMER).keys() | names(
    "client.id request.timeout.ms connections.max.idle.ms reconnect.backoff.ms "
    "reconnect.backoff.max.ms metadata.max.age.ms"
)
CONSUMER_ONLY = frozenset(known(KeyLevel.CONSUMER))

# The kinds of values that are checked, as ``values.parse`` knows them.
KINDS_OF_VALUES: dict[str, str] = {
    "bootstrap.servers": "addresses",
    "retry.backoff.ms": "int",
    "sasl.oauthbearer.header.urlencode": "boolean",
    "sasl.mechanism": "sasl-mechanism",
    "ssl.enabled.protocols": "tls-protocols",
    "ssl.protocol": "tls-protocol",
    "ssl.cipher.suites": "cipher-suites",
    "security.protocol": f"choice {'|'.join(SECURITY_PROTOCOLS)}",
    "client.dns.lookup": "choice use_all_dns_ips|resolve_canonical_bootstrap_servers_only",
    **{name: "int" for name in HONOURED if name.endswith((".ms", ".bytes", ".seconds"))},
    **{name: key.kind for name, key in known(KeyLevel.CONSUMER).items()},
}

_BATCHES = "record batches are copied unchanged"
_SIZES = "read-ahead is bounded by copy.buffer.bytes instead"
_ACKED = "every append is idempotent and waits for all in-sync replicas"
_NO_GROUP = "source partitions are assigned to units, no consumer group is joined"
_NO_JAVA = "no Java client takes part in the copying"
_RETRIES = "an append is retried with the same bytes until the broker answers"

WITHOUT_EFFECT: dict[str, str] = {
    **CONNECTION_WITHOUT_EFFECT,
    "client.dns.lookup": "every address of a host name is tried",
    **dict.fromkeys(
        names(
            "batch.size linger.ms compression.type compression.gzip.level compression.lz4.level "
            "compression.zstd.level partitioner.class partitioner.ignore.keys key.serializer "
            "partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms "
            "value.serializer key.deserializer value.deserializer max.request.size check.crcs"
        ),
        _BATCHES,
    ),
    **dict.fromkeys(
        names(
            "buffer.memory max.poll.records fetch.max.bytes fetch.min.bytes fetch.max.wait.ms "
            "max.partition.fetch.bytes receive.buffer.bytes send.buffer.bytes"
        ),
        _SIZES,
    ),
    **dict.fromkeys(
        names(
            "acks enable.idempotence transactional.id transaction.timeout.ms "
            "max.in.flight.requests.per.connection transaction.two.phase.commit.enable"
        ),
        _ACKED,
    ),
    **dict.fromkeys(
        names("retries delivery.timeout.ms max.block.ms retry.backoff.ms retry.backoff.max.ms"),
        _RETRIES,
    ),
    **dict.fromkeys(
        names(
            "group.id group.instance.id group.protocol group.remote.assignor session.timeout.ms "
            "heartbeat.interval.ms partition.assignment.strategy enable.auto.commit "
            "auto.commit.interval.ms max.poll.interval.ms exclude.internal.topics "
            "allow.auto.create.topics internal.leave.group.on.close share.acquire.mode "
            "share.acknowledgement.mode internal.throw.on.fetch.stable.offset.unsupported"
        ),
        _NO_GROUP,
    ),
    **dict.fromkeys(
        names(
            "metric.reporters metrics.num.samples metrics.recording.level "
            "metrics.sample.window.ms interceptor.classes security.providers "
            "enable.metrics.push config.providers auto.include.jmx.reporter "
            "default.api.timeout.ms socket.connection.setup.timeout.ms "
            "socket.connection.setup.timeout.max.ms metadata.max.idle.ms "
            "metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms "
            "metadata.request.timeout.ms num.stream.threads bootstrap.controllers timeout.ms "
            "poll.timeout.ms"
        ),
        _NO_JAVA,
    ),
}

PRODUCER_ONLY = names(
    "acks batch.size linger.ms buffer.memory compression.type delivery.timeout.ms max.block.ms "
    "max.request.size max.in.flight.requests.per.connection retries enable.idempotence "
    "transactional.id transaction.timeout.ms partitioner.class"
)

KNOWN = CONNECTION | HONOURED | WITHOUT_EFFECT.keys()
