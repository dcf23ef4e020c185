"""Writes a first properties file, with comments, from a few answers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_ENV_PROVIDER = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"


@dataclass(frozen=True, slots=True)
class StarterCluster:
    """One cluster: its alias, addresses, and how clients log in."""

    alias: str
    servers: str
    protocol: str = "PLAINTEXT"
    mechanism: str = "SCRAM-SHA-512"  # with SASL
    user: str = ""  # with SASL
    truststore: str = ""  # a PEM file; empty: the system's authorities

    @property
    def password_variable(self) -> str:
        """The environment variable that the file takes the user's password from."""
        letters = "".join(each if each.isalnum() else "_" for each in self.alias.upper())
        return f"{letters}_PASSWORD"


@dataclass(frozen=True, slots=True)
class StarterAnswers:
    """What a first file is written from."""

    source: StarterCluster
    target: StarterCluster
    topics: str = ".*"
    keeps_names: bool = True
    both_ways: bool = False
    syncs_groups: bool = True
    replication_factor: int = -1

    @property
    def clusters(self) -> tuple[StarterCluster, StarterCluster]:
        return self.source, self.target

    @property
    def password_variables(self) -> tuple[str, ...]:
        """The environment variables that have to be set."""
        return tuple(
            each.password_variable for each in self.clusters if each.protocol.startswith("SASL")
        )


def starter_text(answers: StarterAnswers) -> str:
    """Return the file's text."""
    return "\n".join((*_head(answers), *_clusters(answers), *_flows(answers), *_more())) + "\n"


def _head(answers: StarterAnswers) -> Iterator[str]:
    yield "# Written by `isthmus init`. Check it with `isthmus check FILE`, the clusters"
    yield "# with `isthmus doctor FILE`, and start it with `isthmus run FILE`."
    yield "# All settings: docs/configuration.md"
    yield ""
    yield "# Names of the clusters; each setting that begins with one is about that cluster."
    yield f"clusters = {', '.join(each.alias for each in answers.clusters)}"
    if answers.password_variables:
        yield ""
        yield "# Passwords are taken from the environment, for which ${env:NAME} stands."
        yield "config.providers = env"
        yield f"config.providers.env.class = {_ENV_PROVIDER}"


def _clusters(answers: StarterAnswers) -> Iterator[str]:
    for each in answers.clusters:
        yield ""
        yield f"{each.alias}.bootstrap.servers = {each.servers}"
        if each.protocol != "PLAINTEXT":
            yield f"{each.alias}.security.protocol = {each.protocol}"
        if each.protocol.endswith("SSL"):
            yield from _tls(each)
        if each.protocol.startswith("SASL"):
            module = _PLAIN if each.mechanism == "PLAIN" else _SCRAM
            yield f"{each.alias}.sasl.mechanism = {each.mechanism}"
            yield f"{each.alias}.sasl.jaas.config = {module} required \\"
            yield f'  username="{each.user}" password="${{env:{each.password_variable}}}";'


def _tls(each: StarterCluster) -> Iterator[str]:
    if each.truststore:
        yield f"{each.alias}.ssl.truststore.type = PEM"
        yield f"{each.alias}.ssl.truststore.location = {each.truststore}"
    else:
        yield "# Brokers' certificates are checked against the system's authorities. Another one:"
        yield f"# {each.alias}.ssl.truststore.type = PEM"
        yield f"# {each.alias}.ssl.truststore.location = /etc/isthmus/{each.alias}-ca.pem"


def _flows(answers: StarterAnswers) -> Iterator[str]:
    pairs = [(answers.source.alias, answers.target.alias)]
    pairs += [(answers.target.alias, answers.source.alias)] if answers.both_ways else []
    for source, target in pairs:
        yield ""
        yield f"# Topics that are copied from {source} to {target}: Java regular expressions for"
        yield "# whole names, separated by commas. Internal topics are never copied."
        yield f"{source}->{target}.enabled = true"
        yield f"{source}->{target}.topics = {answers.topics}"
    yield ""
    if answers.keeps_names:
        yield "# A copy has the name of its original. Flows in both directions copy no record back."
        yield "# Without this line a copy's name begins with the source: " + pairs[0][0] + ".orders"
        yield "replication.policy.class = IdentityReplicationPolicy"
    else:
        yield f"# A copy's name begins with its source: {pairs[0][0]}.orders. To keep names:"
        yield "# replication.policy.class = IdentityReplicationPolicy"
    yield ""
    yield "# Consumer groups can move to the other cluster: their offsets are translated exactly."
    yield f"sync.group.offsets.enabled = {str(answers.syncs_groups).lower()}"
    yield ""
    yield "# Replicas of new topics; -1: as many as the target's default.replication.factor says."
    yield f"replication.factor = {answers.replication_factor}"


def _more() -> Iterator[str]:
    yield ""
    yield "# The lag check fails when a record waits longer than this."
    yield "lag.sla.seconds = 60"
    yield ""
    yield "# Metrics for Prometheus, and alerts:"
    yield "# metrics.port = 9404"
    yield "# alert.webhook.url = https://alerts.example/isthmus"
