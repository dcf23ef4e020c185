"""The replication topologies of demo and smoke: clusters, flows, writers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from orchestration.flows.names import require_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEEP_NAMES = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


class Link(NamedTuple):
    """A flow, by the names of its clusters."""

    source: str
    target: str


class Copy(NamedTuple):
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

    @property
    def circles(self) -> bool:
        """Whether a record could be copied back to its origin."""
        return any(writer in self._reached_from(writer) for writer in self.writers)

    def config(self, servers: Mapping[str, str]) -> str:
        """Return the configuration file; ``servers``: bootstrap servers by cluster."""
        lines = [
            f"# Written by `isthmus demo` at every start: {self.is_about}.",
            f"clusters = {', '.join(self.clusters)}",
            *(f"{each}.bootstrap.servers = {servers[each]}" for each in self.clusters),
        ]
        for source, target in self.links:
            lines += [f"{source}->{target}.enabled = true", f"{source}->{target}.topics = .*"]
        lines += [f"replication.policy.class = {_KEEP_NAMES}"] if self.keeps_names else []
        return "\n".join([*lines, "replication.factor = 1", ""])

    def copies(self) -> Iterator[Copy]:
        """Yield the copies that must exist at the end: each origin with each cluster it reaches."""
        for writer in self.writers:
            for cluster in self.clusters:
                if cluster != writer and cluster in self._reached_from(writer):
                    yield Copy(writer, cluster)

    def topic_at(self, copy: Copy, topic: str) -> str:
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
    both = ("east", "west")
    yield Scenario("active-active", both, (Link(*both), Link(*both[::-1])), both,
                   keeps_names=True, records=200_000,
                   is_about="the same topics in two clusters, each into the other")  # fmt: skip
    yield Scenario("mesh", three, tuple(Link(*each) for each in permutations(three, 2)), three,
                   keeps_names=True, records=300_000,
                   is_about="three clusters, each into both others, same topics")  # fmt: skip
    ring = zip(three, (*three[1:], three[0]), strict=True)
    yield Scenario("ring", three, tuple(Link(*each) for each in ring), three,
                   keeps_names=True, records=300_000,
                   is_about="three clusters in a ring, each forwards all records")  # fmt: skip


SCENARIOS: Mapping[str, Scenario] = {each.name: each for each in _scenarios()}


def scenario(name: str) -> Scenario:
    """Return the scenario of that name. Raises ConfigError."""
    require_name("scenario", name, SCENARIOS, "isthmus")
    return SCENARIOS[name]
