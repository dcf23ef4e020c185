"""The append engine: every record once, for every consumer, without transactions on the data path.

========================  =========================================================================
``spec``                  what a unit is told, and what it reports
``host``                  what a process keeps between epochs; ``copy_epoch`` is the way in
``starting``, ``unit``    one unit for one epoch
``takeover``, ``counting``  claims, fence markers and counting (invariants B, C, F, G)
``lane``, ``pieces``      one partition: fetched, on the wire, acked (invariant D)
``fetching``, ``appending``, ``tending``  the loops around lanes, and remedies
``outcomes``              what an error code asks for
``logs``                  the state topics, over the unit's own connections
``network``               what all this asks of a cluster; implemented by ``adapters.wire``
========================  =========================================================================

Invariants A to G are stated where they are kept: A in ``appending``, B, F, G in ``takeover``, C and
D in ``replication.progress``, E below.

E  Which records are deliverable depends on the source's log alone: a batch is dropped for being a
   marker or aborted, never for what the target holds. A change of isolation or naming begins with
   a clean end.
"""

from replication.copier.host import Host, copy_epoch
from replication.copier.spec import UnitReport, UnitSpec

__all__ = ["Host", "UnitReport", "UnitSpec", "copy_epoch"]
