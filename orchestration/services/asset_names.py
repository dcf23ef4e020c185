"""Names of Dagster's assets, for those who look for them without Dagster's definitions. Pure."""

from __future__ import annotations

import hashlib
import re


def slug(flow: str) -> str:
    """Return a flow's name in the form of Dagster's keys, groups and tags: ``A_to_B``.

    Names with replaced characters get some digits of a hash: ``a-x->b`` and ``a_x->b`` differ.
    """
    plain = flow.replace("->", "_to_")
    safe = re.sub(r"\W", "_", plain)
    if safe == plain and flow.count("->") <= 1 and "_to_" not in flow:
        return safe
    return f"{safe}_{hashlib.sha256(flow.encode()).hexdigest()[:4]}"


def stream_path(flow: str) -> list[str]:
    """Return the path of the asset that carries a flow's lag, rate and checks."""
    return ["replication", slug(flow), "stream"]
