"""Plans of a running flow: topics found, names checked, delivery modes, the units' template.

``absent_topics``: Names why a topic that was copied is not copied any more: deleted, denied, or not
    selected
``delivery_modes``: Decides the delivery mode of each topic: append, or transactional where it is
    compacted
``flow_planner``: Plans which partitions a flow copies now; creates or grows missing target topics
``name_announcements``: Exchanges new target topic names with flows of other applications into the
    same target
``names_in_use``: Finds the topics of a flow that were copied under another name, and whether each
    may go on
``naming_guard``: Leaves topics out of a plan whose target names conflict, are invalid, or are taken
``partition_plans``: Pairs each source partition with its copy, and with the settings that it is
    copied by
``plan_notes``: Notes on a flow's plan: what was done, what is refused, which names changed
``source_inventory``: Decides which partitions the source had when a flow first started
``source_topics``: Reads the topics of a flow's source; one that an answer lacks is looked up before
    it is gone
``state_topics``: Watches a flow's state topics: one that is not compacted loses state, and so does
    a deleted one
``topic_watcher``: Plans a flow every few seconds, so that new topics and partitions are copied
``unit_template``: Builds the part of a unit's spec that all units of a flow share

May import: ``spark_jobs.source``, ``spark_jobs.process``, ``spark_jobs.memo`` and ``replication``.
"""
