"""Compares the last records of each partition with their copies, before clients move to these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.flows.comparison.comparison_verdict import ComparisonRow, verdict
from replication.errors import ClusterRejected
from replication.planning.explain import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestration.flows.comparison.compared_partition import PartitionResult
    from orchestration.flows.comparison.flow_comparison import FlowComparison


def compare_tail(comparison: FlowComparison) -> str:
    """Compare, and return how much was; raise ClusterRejected at the first difference.

    What is transformed is other records on the target, and is not compared.
    """
    name, others = comparison.flow.name, len(comparison.transformed)
    results = [comparison.compare(each, lambda _: None) for each in comparison.plan()]
    verb = "is" if others == 1 else "are"
    if others and not results:
        return f"nothing is compared: {counted(others, 'topic')} of {name} {verb} transformed"
    found = verdict([ComparisonRow(name, each) for each in results])
    if not found.good:
        raise ClusterRejected(
            f"the copies are {found}: {'; '.join(differences(results))}; isthmus compare FILE and "
            "isthmus losses FILE show more"
        )
    same = sum(each.comparison.equal for each in results)
    remark = f"; {counted(others, 'topic')} {verb} transformed, and not compared" if others else ""
    return f"{counted(same, 'record')} of {counted(len(results), 'partition')} are equal{remark}"


def differences(results: Sequence[PartitionResult]) -> Iterator[str]:
    """Yield a sentence for each partition whose copy is not exact; one if nothing was compared."""
    has_difference = False
    for each in results:
        where, found = each.work.source, each.comparison
        if each.missing:
            yield f"the target has no {each.work.target}"
        elif each.halted:
            yield f"{where} is {each.halted}"
        for kind, finding in found.found.items():
            if finding.count:
                first = finding.examples[0]
                at = first.source if first.source is not None else first.target
                side = "source" if first.source is not None else "target"
                yield f"{where}: {finding.count} {kind}, the first at {side} offset {at}"
        has_difference = has_difference or each.missing or bool(each.halted) or not found.is_clean()
    if not has_difference:
        yield "no record could be compared; --tail 0 compares none"
