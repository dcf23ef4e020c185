"""The driver's loop: leases, parts of flows, background tasks, edits of the file.

``background_tasks``: Runs a flow's periodic tasks beside copying: heartbeats, group offsets,
    configs, ACLs
``batch_end``: Ends the driver of a batch flow once it has copied what the source had, and writes
    how it ended
``class_archive``: Write the archive of a driver's Java classes before the first driver starts
``class_dump``: Writes the archive of Java classes of a driver that copies: all that a start needs
    are loaded
``cluster_watch``: Watches that a flow's addresses lead to the clusters that the flow has copied
    between
``driver_heartbeats``: Writes the flows' signs of life while the driver's main thread waits for
    Spark to start or stop
``driver_loop``: Drives all flows of one Spark application: leases, JVM, session, and the main loop
``edited_file``: Reads the file that is followed, beside the driver's loop, and says what an edit
    asks for
``fencing_probe``: Run ``copier.takeover.fencing_probe`` on a flow's target, over connections of its
    own
``flow``: Drives one flow: its query from start to end, its next step, and what operators see of it
``flow_lease``: Hold a flow for this driver: take and renew its lease, read what operators want
``flow_parts``: Builds what drives a flow from the settings in force, and replaces it when the file
    is edited
``start_leases``: Takes the leases of all flows before Spark starts, and says in their status why it
    does not
``task_list``: Lists the background tasks of a flow, from its settings
``task_slots``: Spark's task slots: which flows have enough of them for all of their units

May import: what is below ``spark_jobs.driver`` and ``replication``.
"""
