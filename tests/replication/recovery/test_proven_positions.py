"""Which positions a failover has to count."""

from __future__ import annotations

from replication.recovery.proven_positions import needs_count
from replication.state import Anchor


def test_only_appends_behind_an_unclean_anchor_are_counted():
    assert needs_count(Anchor("f", "t", 0, "t", 1, 1))
    assert not needs_count(Anchor("f", "t", 0, "t", 1, 1, clean=True))
    assert not needs_count(Anchor("f", "t", 0, "t", 1, 1, mode="transactional"))
