"""The append engine.

Each record once, without transactions on the data path wherever records can be counted.

``anchor_writer``: Keep the anchors of a unit's lanes up to date, and write the last ones at a
    clean end
``dead_letters``: Dead letters: refused records that are skipped, kept on the target for people to
    look at
``epoch``: How long a unit copies: an epoch, and then a little longer, until the next one comes
    for it
``error_policy``: What becomes of a lane that needs an answer: it is parked, or goes on and the
    loss is written
``foreign_writers``: Who else appends to our target partitions: other flows of ours may, anybody
    else is named
``host``: What a process keeps from one epoch to the next: its units, their event loop and
    connections
``partition_upkeep``: Keep lanes on the right brokers, and help those in trouble while the others
    go on
``replan``: Another plan for a unit that copies on: what is the same in both is left alone
``spec``: What a unit is told to copy, and what it reports
``start``: Begin an epoch: who we are for the brokers, and where each partition goes on
``unit``: One unit: take partitions over, copy epoch after epoch, keep anchors, end cleanly
``unit_groups``: One unit in this process, from the epoch it came with until it ends
``unit_parts``: What copies the partitions of a unit that it has taken over: its parts, and how
    they end
``fetch``: Fetching: which broker is asked for what, how fast, into which memory, and what its
    answers mean.
``partition``: The copy of one partition: its state, batches, positions and errors. No I/O.
``produce``: Producing: batches on their way to the target, their answers, transactions.
``takeover``: Where a partition continues after a crash: claims, fencing, counting, search by
    content.

Invariants are stated where they are kept: A in ``replication.copier.produce.sender``; B, F, G, R
and T in ``replication.copier.takeover.takeover``; C and D in
``replication.copier.partition.position``; H in ``replication.copier.epoch``; P1 to P3 in
``replication.provenance.origins``; S in ``replication.copier.takeover.content_position``; E here:

E  Which records are deliverable depends on the source's log alone: a batch is dropped because it is
   a control batch or aborted, never because of what the target holds. Another isolation level or
   naming begins with a clean end.

May import: ``provenance``, ``naming``, ``client`` and what is below them; clusters are reached
through ``replication.client.network`` alone.
"""

from replication.copier.host import Host, copy_epoch
from replication.copier.spec import UnitReport, UnitSpec

__all__ = ["Host", "UnitReport", "UnitSpec", "copy_epoch"]
