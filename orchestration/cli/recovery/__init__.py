"""The commands about failover, failback, switchover and drill: their options and output.

``drill``: ``isthmus drill``: practises a failover and a failback with canary records
``failback``: ``isthmus failback``: moves clients back to a source that was lost and has returned
``failover``: ``isthmus failover``: opens the target for clients after the loss of a source
``procedure_output``: What the verbs of this room show: the plan of steps before them, and the
    report after them
``switchover``: ``isthmus switchover``: moves clients to the target while the source works

May import: ``orchestration.cli.flows``, ``orchestration.cli.screen``, ``orchestration.drill``,
``orchestration.failback``, ``orchestration.switchover``, ``orchestration.recovery``,
``orchestration.flows``, ``orchestration.services`` and ``replication``.
"""
