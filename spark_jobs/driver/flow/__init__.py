"""Drives one flow: its query from start to end, its next step, and what operators see of it.

``epoch_stall``: Says whether a process that copies hangs: its epoch does not end
``flow_driver``: Drives one flow: decides its next step, carries it out, and writes its status;
    never blocks
``flow_query``: Starts, inspects and stops one flow's Spark query
``flow_remarks``: Remarks on how a flow copies, and on topics that it does not copy any more
``flow_states``: Decides a driver's next step for a flow, and the flow's displayed state and reason
``query_cycle``: Starts, watches and ends the queries of a flow, one after the other; never blocks
``query_pauses``: How long a flow waits after a query that failed, before it starts the next one

May import: ``background_tasks``, ``flow_lease``, what is below ``spark_jobs.driver`` and
``replication``.
"""
