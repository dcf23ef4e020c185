"""A drill as an operator carries it out: failover and failback, practised with canary records.

``canary_topic``: The canary topic on one cluster: written, read, and the group's positions in it
``clean_up``: Removes all that a drill made on both clusters, also one that was killed
``drill``: Plans and carries out a drill, records its result, and leaves nothing behind
``drill_report``: What a drill found: RTO, RPO, what became of the records; as values and in
    sentences
``html_page``: Shows a drill's report as a page that needs no other file
``shadow_drivers``: Spark drivers of a drill's flows, in a state directory of their own
``steps``: The steps of a drill on the flow's clusters, and what each of them measures

May import: ``orchestration.failback``, ``orchestration.recovery``, ``orchestration.flows``,
``orchestration.services`` and ``replication``.
"""
