"""What has to change on a target.

Topic by topic: topics, partitions, configs, ACLs; planned, explained and applied.

``acl_commands``: Needed rights as lines for Kafka's own tool
``acl_sync``: Which rights on the target follow those on the source
``apply``: Carry a plan out, an outcome an action
``execute``: Carry a plan out and remember what was done: for the next plan, and for who asks
``explain``: A plan as text: what the dry run prints and what the log says of each action
``live_topology``: The topology of a file's flows, with the topics that its clusters have
``merged_configs``: The one target topic that topics of several sources merge into: its settings
``overview``: A target's plan, topic by topic: what is copied, under which name and how
``planner``: What would change on a target so that it is as its flows say: asked and planned
``required_acls``: The rights that Isthmus needs on its clusters for the flows of a file, and no
    others
``source_snapshot``: What a target should have, by what its flows' sources show
``target_snapshot``: Read what a target says about the names on it: who feeds which topic, and
    what holds records
``topic_configs``: Which configs a copy takes from its source, and what has to be changed for it
``topics``: What must change on the target so that it has the topics that its flows copy into

May import: ``naming``, ``client`` and what is below them. Only ``execute`` and the snapshots call
a cluster.
"""
