"""The append engine: every record once; without transactions on the data path wherever it counts.

============================================  =====================================================
``spec``                                      what a unit is told, and what it reports
``host``, ``unit_groups``, ``connections``                  what a process keeps; ``copy_epoch`` is the way in
``unit``, ``epoch_timer``, ``starting``, ``placing``  epoch after epoch (H): where partitions go on
``engine``                                    the parts that copy for a unit, put together
``takeover``, ``claims``, ``counting``, ``searching``  fence markers, counting (B, C, F, G, S, T)
``partition``, ``intake``, ``writer``, ``watched``, ``producer_batches``, ``produce_queue``, ``copy_counters``
                                              one partition: fetched, on the wire, acked (D)
``transactional``, ``transactions``           lanes that commit records with their anchors (T)
``confirming``                                how a transaction ended, partition by partition
``readers``, ``fetching``, ``response``, ``fetch_request``, ``throttle``, ``replicas``, ``buffers``
                                              what is read, from whom, how fast, into what
``sender``, ``mending``                    sending, answers, what a refusal asks for (A)
``proving``                                   whether a target fences at all (A, B)
``upkeep``, ``recovery_queue``               leaders, fetchers, and help for who needs it
``judging``, ``dead_letters``, ``foreign_writers``       policies, losses, who else writes
``changing``                                  another plan for a unit that copies on
``registry``, ``producers``, ``producer_identities``    which batches are copies, who passes them on (P1, P3)
``anchor_writer``                                   anchors, about every second and at a clean end (D, G)
``outcomes``                                  what an error code asks for
``logs``, ``deciding``                        the state topics, over the unit's own connections
``network``, ``session``, ``fetch_values``, ``producer_identity``
                                              what all this asks of a cluster; see ``adapters.wire``
============================================  =====================================================

Invariants are stated where they are kept: A in ``sender``, B, F, G, R, T in ``takeover``, C and
D in ``replication.copier.partition.position``, H in ``epoch_timer``, P1 to P3 in ``replication.provenance.origins``, S in
``searching``, E below.

E  Which records are deliverable depends on the source's log alone: a batch is dropped for being a
   marker or aborted, never for what the target holds. A change of isolation or naming begins with
   a clean end.
"""

from replication.copier.host import Host, copy_epoch
from replication.copier.spec import UnitReport, UnitSpec

__all__ = ["Host", "UnitReport", "UnitSpec", "copy_epoch"]
