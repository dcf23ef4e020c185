"""The replication topologies of demo and smoke: clusters, flows, writers. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from orchestration.flows.names import require_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_ENRICHED = "central->analytics.transform"
_FIELDS = (
    "order STRING, customer STRING, at BIGINT, "
    "items ARRAY<STRUCT<article: STRING, count: INT, price: INT>>"
)
_TOTAL = "aggregate(value.items, 0, (sum, item) -> sum + item.count * item.price)"
_STRUCT = f"struct(value.order, value.customer, value.at, {_TOTAL} AS total)"
# Orders get their total and lose their articles; what a smoke writes gets a mark.
_HYBRID = (
    f"{_ENRICHED}.orders/value.format = json",
    f"{_ENRICHED}.orders/value.schema = {_FIELDS}",
    f"{_ENRICHED}.orders/select = {_STRUCT} AS value",
    f"{_ENRICHED}.orders/on.error = dead-letter",
    f"{_ENRICHED}.smoke-.*/select = concat(cast('enriched ' AS BINARY), value) AS value",
    "lag.sla.topics = orders",  # so that they are assets
    "dagster.definitions = orchestration.demo.hybrid_assets",
)
_KEEP_NAMES = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


class Link(NamedTuple):
    """A flow, by the names of its clusters."""

    source: str
    target: str


class ExpectedCopy(NamedTuple):
    """Records that are produced to ``origin`` must be copied to ``cluster``."""

    origin: str
    cluster: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """Clusters, the flows between them, and the clusters that records are produced to."""

    name: str
    clusters: tuple[str, ...]
    links: tuple[Link, ...]
    writers: tuple[str, ...]
    keeps_names: bool
    records: int  # that a smoke writes, all clusters together
    is_about: str
    security: Mapping[str, str] = field(default_factory=dict)  # how clients log in, by cluster
    settings: tuple[str, ...] = ()  # further lines of the file

    @property
    def circles(self) -> bool:
        """Whether a record could be copied back to its origin."""
        return any(writer in self._reached_from(writer) for writer in self.writers)

    def config(self, connections: Iterable[str]) -> str:
        """Return the configuration file; ``connections``: its lines of how to connect."""
        lines = [
            f"# Written by `isthmus demo` at every start: {self.is_about}.",
            f"clusters = {', '.join(self.clusters)}",
            *(line.rstrip() for line in connections),
        ]
        for source, target in self.links:
            lines += [
                f"{source}->{target}.enabled = true",
                f"{source}->{target}.topics = .*",
            ]
        lines += [f"replication.policy.class = {_KEEP_NAMES}"] if self.keeps_names else []
        return "\n".join([*lines, *self.settings, "replication.factor = 1", ""])

    def copies(self) -> Iterator[ExpectedCopy]:
        """Yield the copies that must exist at the end: each origin with each cluster it reaches."""
        for writer in self.writers:
            for cluster in self.clusters:
                if cluster != writer and cluster in self._reached_from(writer):
                    yield ExpectedCopy(writer, cluster)

    def topic_at(self, copy: ExpectedCopy, topic: str) -> str:
        """Return the name of ``topic`` on the cluster of its copy."""
        return topic if self.keeps_names else f"{copy.origin}.{topic}"

    def _reached_from(self, cluster: str) -> set[str]:
        """Return the clusters that records of ``cluster`` are copied to, over one or more flows."""
        reached: set[str] = set()
        ahead = {cluster}
        while ahead:
            ahead = {link.target for link in self.links if link.source in ahead} - reached
            reached |= ahead
        return reached


def _scenarios() -> Iterator[Scenario]:
    pair, three = ("primary", "backup"), ("east", "north", "west")
    yield Scenario("copy", pair, (Link(*pair),), pair[:1], keeps_names=False, records=200_000,
                   is_about="one cluster into another, topic names with a prefix")  # fmt: skip
    sites = ("berlin", "lisbon", "oslo")
    yield Scenario("merge", (*sites, "central"), tuple(Link(each, "central") for each in sites),
                   sites, keeps_names=True, records=300_000,
                   is_about="the same topics of three clusters into one")  # fmt: skip
    logins = dict(zip((*sites, "central"), ("sasl_ssl", "mtls", "oauth", "sasl_ssl"), strict=True))
    yield Scenario("secure", (*sites, "central"), tuple(Link(each, "central") for each in sites),
                   sites, keeps_names=True, records=150_000, security=logins,
                   is_about="as merge, with logins: SCRAM, a certificate, a token")  # fmt: skip
    both = ("east", "west")
    yield Scenario("active-active", both, (Link(*both), Link(*both[::-1])), both,
                   keeps_names=True, records=200_000,
                   is_about="the same topics in two clusters, each into the other")  # fmt: skip
    yield Scenario("mesh", three, tuple(Link(*each) for each in permutations(three, 2)), three,
                   keeps_names=True, records=300_000,
                   is_about="three clusters, each into both others, same topics")  # fmt: skip
    regions = ("berlin", "lisbon")
    merged = tuple(Link(each, "central") for each in regions)
    yield Scenario("hybrid", (*regions, "central", "analytics"),
                   (*merged, Link("central", "analytics")), regions, keeps_names=True,
                   records=100_000, settings=_HYBRID,
                   is_about="regions into one cluster; enriched by Spark SQL into a further topic "
                   "and Parquet")  # fmt: skip
    ring = zip(three, (*three[1:], three[0]), strict=True)
    yield Scenario("ring", three, tuple(Link(*each) for each in ring), three,
                   keeps_names=True, records=300_000,
                   is_about="three clusters in a ring, each forwards all records")  # fmt: skip


SCENARIOS: Mapping[str, Scenario] = {each.name: each for each in _scenarios()}


def scenario(name: str) -> Scenario:
    """Return the scenario of that name. Raises ConfigError."""
    require_name("scenario", name, SCENARIOS, "isthmus")
    return SCENARIOS[name]
