"""A switchover as an operator carries it out: clients move while both clusters work.

``home_positions``: Where groups that read renamed copies continue in the originals, when clients
    come home
``readiness``: Says why a flow's clients cannot be moved to its target now
``source_clients``: Who writes to a flow's source, and who reads there: asked before clients move to
    the target
``steps``: The steps of a switchover on the flow's clusters; each may run twice
``switchover``: Plans and carries out a switchover, and takes it back
``switchover_report``: What a switchover tells: what prevents it, the groups' positions, who still
    writes
``tail_comparison``: Compares the last records of each partition with their copies, before clients
    move to these
``write_denial``: Denies everybody to write to topics of a source, and takes that back

May import: ``orchestration.recovery``, ``orchestration.flows`` and ``replication``.
"""
