"""Names of the settings of Kafka's Java clients, and which of them Isthmus uses."""

from __future__ import annotations

from replication.config.file.values import SECURITY_PROTOCOLS
from replication.config.keys.section_keys import known
from replication.settings.setting_key import Level

KINDS = ("consumer", "producer", "admin")


def _names(text: str, prefix: str = "") -> frozenset[str]:
    return frozenset(prefix + name for name in text.split())


# What MirrorMaker 2 calls client connection names: only these are inherited (see precedence).
CONNECTION = (
    frozenset({"bootstrap.servers", "security.protocol"})
    | _names(
        "protocol provider cipher.suites enabled.protocols keystore.type truststore.type "
        "keystore.location truststore.location keystore.password truststore.password "
        "key.password keystore.key keystore.certificate.chain truststore.certificates "
        "keymanager.algorithm trustmanager.algorithm endpoint.identification.algorithm "
        "secure.random.implementation engine.factory.class",
        "ssl.",
    )
    | _names(
        "mechanism jaas.config client.callback.handler.class login.callback.handler.class "
        "login.class kerberos.service.name kerberos.kinit.cmd "
        "kerberos.ticket.renew.window.factor kerberos.ticket.renew.jitter "
        "kerberos.min.time.before.relogin login.refresh.window.factor "
        "login.refresh.window.jitter login.refresh.min.period.seconds "
        "login.refresh.buffer.seconds login.connect.timeout.ms login.read.timeout.ms "
        "login.retry.backoff.ms login.retry.backoff.max.ms oauthbearer.scope.claim.name "
        "oauthbearer.sub.claim.name oauthbearer.token.endpoint.url oauthbearer.jwks.endpoint.url "
        "oauthbearer.jwks.endpoint.refresh.ms oauthbearer.jwks.endpoint.retry.backoff.ms "
        "oauthbearer.jwks.endpoint.retry.backoff.max.ms oauthbearer.clock.skew.seconds "
        "oauthbearer.expected.audience oauthbearer.expected.issuer oauthbearer.header.urlencode",
        "sasl.",
    )
)

# Connection names that our clients cannot use, and why.
CONNECTION_WITHOUT_EFFECT = {
    "ssl.protocol": "the newest TLS that both sides know is used, 1.2 at least",
    "ssl.enabled.protocols": "the newest TLS that both sides know is used, 1.2 at least",
    "ssl.cipher.suites": "OpenSSL's own choice of ciphers is used",
    **dict.fromkeys(
        (
            "ssl.provider",
            "ssl.keymanager.algorithm",
            "ssl.trustmanager.algorithm",
            "ssl.secure.random.implementation",
        ),
        "a detail of Java's TLS; OpenSSL is used here",
    ),
    **dict.fromkeys(
        (
            "sasl.kerberos.service.name",
            "sasl.kerberos.kinit.cmd",
            "sasl.kerberos.ticket.renew.window.factor",
            "sasl.kerberos.ticket.renew.jitter",
            "sasl.kerberos.min.time.before.relogin",
        ),
        "Kerberos is not supported",
    ),
}

# A class named here would change how a client authenticates; passing it over would hide that.
CONNECTION_REFUSED = ("ssl.engine.factory.class", "sasl.login.class")

# Settings that reach our clients or the copier besides the connection names.
HONOURED = known(Level.CONSUMER).keys() | _names(
    "client.id client.dns.lookup request.timeout.ms connections.max.idle.ms "
    "reconnect.backoff.ms reconnect.backoff.max.ms retry.backoff.ms metadata.max.age.ms"
)
CONSUMER_ONLY = frozenset(known(Level.CONSUMER))

# The kinds of values that are checked, as ``values.parse`` knows them.
KINDS_OF_VALUES: dict[str, str] = {
    "bootstrap.servers": "addresses",
    "sasl.mechanism": "sasl-mechanism",
    "security.protocol": f"choice {'|'.join(SECURITY_PROTOCOLS)}",
    "client.dns.lookup": "choice use_all_dns_ips|resolve_canonical_bootstrap_servers_only",
    **{name: "int" for name in HONOURED if name.endswith((".ms", ".bytes", ".seconds"))},
    **{name: key.kind for name, key in known(Level.CONSUMER).items()},
}

_BATCHES = "record batches are copied unchanged"
_SIZES = "read-ahead is bounded by copy.buffer.bytes instead"
_ACKED = "every append is idempotent and waits for all in-sync replicas"
_NO_GROUP = "source partitions are assigned to units, no consumer group is joined"
_NO_JAVA = "no Java client takes part in the copying"
_RETRIES = "an append is retried with the same bytes until the broker answers"

WITHOUT_EFFECT: dict[str, str] = {
    **dict.fromkeys(
        _names(
            "batch.size linger.ms compression.type compression.gzip.level compression.lz4.level "
            "compression.zstd.level partitioner.class partitioner.ignore.keys key.serializer "
            "partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms "
            "value.serializer key.deserializer value.deserializer max.request.size check.crcs"
        ),
        _BATCHES,
    ),
    **dict.fromkeys(
        _names(
            "buffer.memory max.poll.records fetch.max.bytes fetch.min.bytes fetch.max.wait.ms "
            "max.partition.fetch.bytes receive.buffer.bytes send.buffer.bytes"
        ),
        _SIZES,
    ),
    **dict.fromkeys(
        _names(
            "acks enable.idempotence transactional.id transaction.timeout.ms "
            "max.in.flight.requests.per.connection transaction.two.phase.commit.enable"
        ),
        _ACKED,
    ),
    **dict.fromkeys(
        _names("retries delivery.timeout.ms max.block.ms retry.backoff.max.ms"), _RETRIES
    ),
    **dict.fromkeys(
        _names(
            "group.id group.instance.id group.protocol group.remote.assignor session.timeout.ms "
            "heartbeat.interval.ms partition.assignment.strategy enable.auto.commit "
            "auto.commit.interval.ms max.poll.interval.ms exclude.internal.topics "
            "allow.auto.create.topics internal.leave.group.on.close share.acquire.mode"
        ),
        _NO_GROUP,
    ),
    **dict.fromkeys(
        _names(
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

PRODUCER_ONLY = _names(
    "acks batch.size linger.ms buffer.memory compression.type delivery.timeout.ms max.block.ms "
    "max.request.size max.in.flight.requests.per.connection retries enable.idempotence "
    "transactional.id transaction.timeout.ms partitioner.class"
)

KNOWN = CONNECTION | HONOURED | WITHOUT_EFFECT.keys()

_SECRET_WORDS = (
    "password",
    "secret",
    "jaas.config",
    "keystore.key",
    "certificate",
    "token",
    "credential",
)


def is_secret(key: str) -> bool:
    """Whether the value of ``key`` must never be displayed."""
    lowered = key.lower()
    return any(word in lowered for word in _SECRET_WORDS) and not lowered.endswith(
        ("token.endpoint.url", ".class")
    )
