"""What to do about each kind of problem, and the section of the runbooks that says more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Runbook(NamedTuple):
    """``section`` is a heading's anchor in docs/runbooks.md."""

    section: str
    action: str

    def to_do(self, flows: Sequence[str]) -> str:
        """Return the action; if there is one flow, its command names that."""
        if len(flows) != 1:
            return self.action
        return self.action.replace("A:B", flows[0].replace("->", ":"))


_BY_NAME = {
    "UNREACHABLE": Runbook(
        "a-cluster-does-not-answer",
        "bring the cluster back, or check the addresses and logins of the file; flows continue "
        "automatically",
    ),
    "BROKEN_FILE": Runbook(
        "a-broken-file", "correct the file (`isthmus check FILE`); no restart is needed"
    ),
    "DEAD": Runbook(
        "a-driver-is-dead",
        "read the end of the driver's log: .isthmus/apps/<application>/driver.log",
    ),
    "STARTING": Runbook(
        "a-flow-does-not-start",
        "read the end of the driver's log: .isthmus/apps/<application>/driver.log",
    ),
    "STOPPED": Runbook("a-flow-does-not-start", "start it: `isthmus run FILE`"),
    "FAILED": Runbook(
        "a-flow-has-failed", "do what the reason says; then it continues automatically"
    ),
    "WRONG_CLUSTER": Runbook(
        "an-address-leads-to-another-cluster",
        "correct the address, or accept the cluster: `isthmus resolve FILE accept --flow A:B`",
    ),
    "DEGRADED": Runbook(
        "some-partitions-are-not-copied", "list them and decide: `isthmus resolve FILE`"
    ),
    "nothing_lost": Runbook("records-were-not-copied", "list them: `isthmus losses FILE`"),
    "lag_sla": Runbook(
        "a-flow-is-behind", "see where it lags: `isthmus status FILE`; give it more units"
    ),
    "rpo_slo": Runbook("a-flow-is-behind", "see what a failover would lose: `isthmus status FILE`"),
    "heartbeat_age": Runbook(
        "heartbeats-are-old", "see the reason: `isthmus heartbeats FILE`, `isthmus status FILE`"
    ),
    "drill_age": Runbook(
        "a-drill-is-due",
        "practise the failover: `isthmus drill FILE`, or the flow's job in Dagster",
    ),
    "verified_age": Runbook(
        "a-verification-is-due",
        "read the last report, or verify: `isthmus verify FILE`, or the flow's job in Dagster",
    ),
    "batch_age": Runbook(
        "a-run-is-due",
        "see why the last run failed: `isthmus status FILE`; run the flow: `isthmus batch FILE`",
    ),
    "file_in_force": Runbook(
        "a-broken-file", "let driver and Dagster read the same file; restart the driver"
    ),
    "RUN_FAILED": Runbook("a-run-has-failed", "open the run in Dagster; it is tried again"),
}
_OTHER = Runbook("something-else", "see the reason: `isthmus status FILE`")


def runbook(*names: str) -> Runbook:
    """Return the runbook of the first name that has one: states first, then checks."""
    return next((_BY_NAME[each] for each in names if each in _BY_NAME), _OTHER)


def sections() -> frozenset[str]:
    """Return all sections that alerts link to."""
    return frozenset(each.section for each in (*_BY_NAME.values(), _OTHER))
