"""The driver's loop: leases, streaming queries, background tasks, states of flows.

``background_tasks``: Runs a flow's periodic tasks beside copying: heartbeats, group offsets,
    configs, ACLs
``class_archive``: Write the archive of a driver's Java classes before the first driver starts
``cluster_watch``: Watches that a flow's addresses lead to the clusters that the flow has copied
    between
``driver_loop``: Drives all flows of one Spark application: leases, JVM, session, and the main
    loop
``epoch_stall``: Measures how long a query has been in the same epoch
``fencing_probe``: Run ``copier.takeover.fencing_probe`` on a flow's target, over connections of
    its own
``flow_driver``: Drives one flow: starts, watches and ends its query, and writes its status; never
    blocks
``flow_lease``: Hold a flow for this driver: take and renew its lease, read what operators want
``flow_query``: Starts, inspects and stops one flow's Spark Structured Streaming query
``flow_states``: Decides a driver's next step for a flow, and the flow's displayed state and
    reason
``task_list``: Lists the background tasks of a flow, from its settings

May import: all other rooms of ``spark_jobs``.
"""
