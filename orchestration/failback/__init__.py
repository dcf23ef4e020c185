"""A failback as an operator carries it out: clients return to a source that was lost.

``deleted_topic``: What is lost with a topic that is deleted on the source: records only there, and
    offsets
``failback``: Plans and carries out a failback: clients return to a source that was lost and is back
``failback_report``: What a failback tells: what prevents it, and the tail of each partition
``new_topics``: Lets both flows begin in the topics that a failback has created anew on the source
``objections``: What prevents the deletion of a topic on the source, to fill it anew from its copy
``other_groups``: Sets groups on the source that have no offset there any more, since its topics
    were deleted
``steps``: The steps of a failback on the flow's clusters; each may run twice
``tail_export``: Writes a diverged tail to files, by a bounded Spark job in a process of its own
``tails``: A failback's flows, and the tail of each partition as it was found and as it is now
``topic_recreation``: Deletes the topics of a tail on the source, and creates them as they were

May import: ``orchestration.switchover``, ``orchestration.recovery``, ``orchestration.flows``,
``orchestration.services`` and ``replication``.
"""
