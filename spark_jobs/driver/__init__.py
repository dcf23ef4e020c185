"""The driver's loop: leases, streaming queries, background tasks, states of flows.

``background_tasks``: Runs a flow's periodic tasks beside copying: heartbeats, group offsets,
    configs, ACLs
``batch_end``: Ends the driver of a batch flow once it has copied what the source had
``beats``: Beats for a driver's flows while its main thread waits for Spark: for a start, or a full
    stop
``class_archive``: Write the archive of a driver's Java classes before the first driver starts
``cluster_watch``: Watches that a flow's addresses lead to the clusters that the flow has copied
    between
``driver_loop``: Drives all flows of one Spark application: leases, JVM, session, and the main
    loop
``edited_file``: Reads the file that is followed, beside the driver's loop, and says what an edit
    asks for
``fencing_probe``: Run ``copier.takeover.fencing_probe`` on a flow's target, over connections of
    its own
``flow_driver``: Drives one flow: starts, watches and ends its query, and writes its status; never
    blocks
``flow_lease``: Hold a flow for this driver: take and renew its lease, read what operators want
``flow_parts``: Builds what drives a flow from the settings in force, and replaces it when the file
    is edited
``flow_query``: Starts, inspects and stops one flow's Spark query; measures how long it is in one
    epoch
``flow_states``: Decides a driver's next step for a flow, and the flow's displayed state and
    reason
``task_list``: Lists the background tasks of a flow, from its settings

May import: all other rooms of ``spark_jobs``.
"""
