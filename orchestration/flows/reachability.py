"""Which clusters of a file answer: all are asked at once, before a command asks anything else."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from orchestration.flows.intents import named_flows
from replication.errors import ClusterUnavailable, EnvironmentProblem, ReplicationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from replication.settings.config import Config
    from replication.settings.flow_settings import Flow


class Answers:
    """The clusters of some flows; ``silent`` says why those that do not answer do not."""

    def __init__(self, flows: Iterable[Flow], *, sources: bool = True) -> None:
        """Know the clusters; ask none. Without ``sources`` the targets alone."""
        self._clusters = dict(_clusters(flows, sources=sources))
        self._answered: set[str] = set()
        self.silent: dict[str, str] = {}

    def ask(self) -> Answers:
        """Ask those that have not answered yet. Takes as long as the slowest of them."""
        open_ = {k: client for k, client in self._clusters.items() if k not in self._answered}
        self.silent = _silent(open_) if open_ else {}
        self._answered |= open_.keys() - self.silent.keys()
        return self

    def require(self, name: str) -> None:
        """Raise ClusterUnavailable for a cluster that did not answer when it was last asked."""
        if name in self.silent:
            raise ClusterUnavailable(self.silent[name])

    def require_all(self) -> None:
        """Raise ClusterUnavailable, with a line for each cluster that did not answer."""
        lines = [self.line(name) for name in self.silent]
        if len(lines) > 1:
            title = f"{len(lines)} clusters do not answer (see isthmus doctor FILE):"
            raise ClusterUnavailable("\n  ".join([title, *lines]))
        for line in lines:
            raise ClusterUnavailable(f"{line}; see isthmus doctor FILE")

    def line(self, name: str) -> str:
        """Return why a cluster does not answer, in a line."""
        return f"cluster {name} does not answer: {self.silent[name]}"


def answering_flows(
    config: Config, names: Sequence[str] | None, *, sources: bool = True
) -> tuple[Flow, ...]:
    """Return the flows called ``names``, or all, whose clusters answer. See ``Answers``.

    Raises ConfigError for an unknown flow, ClusterUnavailable with all clusters that do not answer.
    """
    flows = tuple(named_flows(config, names))
    Answers(flows, sources=sources).ask().require_all()
    return flows


def reachable_flows(
    config: Config, names: Sequence[str] | None, *, sources: bool = True
) -> tuple[tuple[Flow, ...], dict[str, str]]:
    """Return the flows called ``names``, or all, whose clusters answer; of the others the reason.

    A silent cluster keeps a command from its own flows alone. Raises ConfigError for an unknown
    flow, ClusterUnavailable with all clusters that do not answer if there is no flow whose do.
    """
    flows = tuple(named_flows(config, names))
    answers = Answers(flows, sources=sources).ask()
    unreached = {}
    for flow in flows:
        ends = (flow.source, flow.target) if sources else (flow.target,)
        if why := [answers.line(each) for each in ends if each in answers.silent]:
            unreached[flow.name] = "; ".join(why)
    reached = tuple(each for each in flows if each.name not in unreached)
    if not reached:
        answers.require_all()
    return reached, unreached


@contextmanager
def left_on_failure(left: dict[str, str], *names: str) -> Iterator[None]:
    """Add to ``left`` why the block failed for these flows: it keeps no other one from its turn."""
    try:
        yield
    except ReplicationError as error:
        left |= dict.fromkeys(names, str(error))


def require_one(flows: Iterable[Flow], left: Mapping[str, str]) -> None:
    """Raise EnvironmentProblem, as ``require_none_left`` does, if all of ``flows`` were left."""
    if all(each.name in left for each in flows):
        require_none_left(left)


def require_none_left(left: Mapping[str, str]) -> None:
    """Raise EnvironmentProblem with a line for each flow that was left, flow -> why, if any was."""
    if left:
        raise EnvironmentProblem(left_lines(left))


def left_lines(left: Mapping[str, str]) -> str:
    """Return a line for each flow that was left, flow -> why."""
    lines = (why if why.startswith(flow) else f"{flow}: {why}" for flow, why in left.items())
    return "\n  ".join(lines)


def _clusters(flows: Iterable[Flow], *, sources: bool) -> Iterator[tuple[str, Mapping[str, str]]]:
    for flow in flows:
        if sources:
            yield flow.source, flow.clients.source_admin
        yield flow.target, flow.clients.target_admin


def _silent(clusters: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    from replication.adapters.reachability import silent_clusters  # noqa: PLC0415 - 0.2 s, on first use

    return silent_clusters(clusters)
