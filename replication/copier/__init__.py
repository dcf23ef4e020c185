"""The append engine: each record once, without transactions wherever records can be counted.

``anchor_writer``: Write the anchors of a unit's partitions each second, and the last ones at a
    clean end
``dead_letters``: Write skipped records that the target rejected to a dead-letter topic on the
    target
``epoch``: Time a unit's epoch and the grace after it; end the unit where a newer driver took over
``error_policy``: Carry out the ``on.*`` policy of a failed partition: halt it, or skip and record
    the loss
``foreign_writers``: Detect producers other than Isthmus that write to our target partitions
``host``: Keep a process's units, event loop and connections from one epoch to the next
``partition_upkeep``: Follow leaders, recover failed partitions, and halt one whose topic was
    created again
``replan``: Apply a new partition plan to a running unit: remove and add the partitions that differ
``spec``: A unit's work for one epoch, and its report: values that Spark tasks and JSON carry
``start``: Start a unit: obtain its producer id, find start positions and take its partitions over
``unit``: One unit: take partitions over, copy epoch after epoch, end cleanly
``unit_assignment``: Assigns a flow's partitions to its units
``unit_groups``: Run a unit as two groups, appended and transactional partitions, over its epochs
``unit_parts``: Wire the parts that copy a unit's partitions after the takeover, and stop them in
    order
``fetch``: Which broker is asked for what, how fast, into which memory; what its responses mean
``partition``: The copy of one partition: its state, batches, positions and errors
``produce``: Producing: batches on their way to the target, their answers, transactions
``takeover``: Where a partition begins, or continues after a crash: claims, fencing, counting,
    content

Invariants are stated where they are kept: A in ``replication.copier.produce.sender``; B, F, G, R
and T in ``replication.copier.takeover.takeover``; C and D in
``replication.copier.partition.position``; H in ``replication.copier.epoch``; P1 to P3 in
``replication.provenance.origins``; S in ``replication.copier.takeover.content_position``; L in
``replication.copier.takeover.placement.lost_anchor``; W in
``replication.copier.produce.append_lease``; E here:

E  Which records are deliverable depends on the source's log alone: a batch is dropped because it is
   a control batch or aborted, never because of what the target holds. Another isolation level or
   naming begins with a clean end.

May import: ``offsets``, ``provenance`` and what is below ``provenance``. Clusters are reached
through ``replication.client.network`` alone. Names are taken from their modules: Spark's planner
reads specs, and must not load the engine for that.
"""
