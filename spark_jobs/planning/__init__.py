"""What a flow copies now.

Topics found, names checked, delivery modes, what all units have in common.

``delivery_modes``: Which mode a topic is copied in: compaction takes away what would have to be
    counted
``flow_planner``: What a flow is to copy now: asked of both clusters, topics made on the target on
    the way
``name_announcements``: What flows of other applications call their topics on the same target, and
    what ours do
``naming_guard``: Keeps topics out of a plan whose names on the target meet others, cannot be, or
    are taken
``topic_watcher``: Looks at a flow's two clusters every few seconds and keeps the plan up to date
``unit_template``: What all units of a flow have in common

May import: ``spark_jobs.source``, ``spark_jobs.process``.
"""
