"""Plans of a target: topics, configs and ACLs that have to change; planned, explained, applied.

``acl_commands``: Required ACLs as commands of ``kafka-acls.sh``
``acl_sync``: Plans which ACLs on the target follow those on the source
``apply``: Applies the actions of a plan and returns an outcome for each
``execute``: Applies a plan and records its outcomes, for the next plan and for status
``explain``: A plan as text, for the dry run and for the log line of each action
``live_topology``: The topology of a file's flows, with the topics that its clusters have
``merged_configs``: The configs of a target topic into which topics of several sources merge
``overview``: A target's plan, topic by topic: what is copied, under which name and how
``planner``: Reads the clusters and plans what has to change on a target for its flows
``required_acls``: The ACLs that Isthmus requires on its clusters for the flows of a file, and no
    others
``source_snapshot``: The desired topics of a target, from a snapshot of its sources
``target_snapshot``: Reads the state of a target: which flow writes to which topic, and which topics
    hold records
``topic_configs``: Which configs of a topic its copy takes, and whether compaction makes it
    transactional
``topic_plan``: Plan which topics of a target are created, extended, altered, or left and why

May import: ``naming``, ``client`` and what is below ``client``. Clusters are called by
``acl_sync``, ``apply``, ``execute``, ``planner`` and the two snapshots; all else is pure.
"""
