"""Consumer groups of a flow's source, carried over to its target.

``consumer_groups``: Plan which group offsets to commit on the target, and which groups are left
    alone
``group_sync``: Synchronizes the committed offsets of a flow's consumer groups from its source to
    its target
``group_translation``: Translates the offsets of groups by ``offsets.translate``; waits for anchors
    that cover them
``shared_partitions``: Where a group continues in partitions that several clusters have written to
``sync_round``: One round of consumer group sync: its interfaces, its result, its summary

May import: ``flow_offsets``, ``known_points``, ``offset_map``, ``naming`` and what is below
``naming``.
"""
