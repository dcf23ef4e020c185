"""Rules of failover, switchover, failback, drill: steps, where a flow stood, what may be missing.

``canaries``: The records of a drill, and what became of them: lost, repeated, different
``diverged_tail``: Finds the records of a source that never arrived at the target: its diverged tail
``drill``: A drill: a failover and a failback, practised with canary records
``drill_acls``: The ACLs that Isthmus requires for the flows of a file and for drills of them
``failback``: A return to a source that was lost: its options, its steps, what becomes of its tail
``flow_fence``: Fences the producers of a flow from outside its units: after it no record of theirs
    is appended
``group_positions``: Where a group continues on the target, when its source cannot be read
``group_sync_age``: How old the stored offsets of groups are, and whether the group sync had been
    silent
``procedure``: The steps of an operation in order, and who may carry it out
``proven_positions``: Proves how far a flow copied: from its anchors, and by counting behind those
    of an unclean end
``refilled_topic``: A topic of a source that is created anew, and filled from its copy: where both
    flows begin
``source_writers``: Finds who still writes records that a flow copies, from the batches that reached
    its source
``unshared_log``: Up to where a copy holds records of its flow alone: no client of the target wrote
    before
``switchover``: A planned move of a flow's clients to its target: its options and its steps, in
    order

May import: ``copier.partition``, ``offsets``, ``planning`` and what is below ``planning``. Clusters
are called by ``diverged_tail``, ``flow_fence``, ``proven_positions``, ``source_writers`` and
``unshared_log``; all else is pure.
"""
