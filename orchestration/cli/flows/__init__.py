"""The commands about running flows: show, pause, resume, restart, resolve, compare, verify.

``accepted_clusters``: Accepts the clusters that a flow's addresses lead to now as the right ones
``alert``: ``isthmus alert test``: posts a test alert to each channel, and says whether it arrived
``compare``: ``isthmus compare``: compares every record of the source with its copy on the target
``compare_remarks``: What ``isthmus compare`` says of a topic beside its differences: what is
    missing or not counted
``compare_report``: Formats the result of ``isthmus compare`` as a table, a verdict and JSON
``flow_options``: The options that name flows, the same for all commands
``heartbeats``: ``isthmus heartbeats``: shows the age of each flow's newest heartbeat, on every
    target
``intents``: ``isthmus pause``, ``resume`` and ``stop``: set the desired state of flows
``resolve``: ``isthmus resolve`` and ``losses``: halted partitions, and offsets that were not copied
``restart``: ``isthmus restart``: stops flows cleanly, and lets them run again
``status``: ``isthmus status``: shows state, lag and throughput of every flow, from the target's
    records
``table``: Formats the table of flows of ``isthmus status`` and ``isthmus run``
``transform``: ``isthmus transform``: shows real records before and after their transform
``verify``: ``isthmus verify``: compares what flows copied with their sources, by a bounded Spark
    job

May import: ``orchestration.cli.screen``, ``orchestration.alerts``, ``orchestration.verification``,
``orchestration.flows``, ``orchestration.services`` and ``replication``.
"""
