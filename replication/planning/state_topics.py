"""Says whether Isthmus' own topics keep what is written to them: by cleanup.policy. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.planning.topic_configs import Settings

COMPACT = "compact"


def losing_policies(settings: Settings) -> dict[str, str]:
    """Return what is wrong with each topic that would lose state, by its name.

    ``settings`` are of existing topics; one whose configs may not be seen is trusted.
    """
    policies = {name: found.get("cleanup.policy") for name, found in sorted(settings.items())}
    return {
        name: f"has cleanup.policy = {policy.value}, so it would lose state that is still needed: "
        f"set it to {COMPACT}"
        for name, policy in policies.items()
        if policy is not None and policy.value != COMPACT
    }
