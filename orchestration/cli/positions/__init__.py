"""Verbs about offsets, groups and the takeover from MirrorMaker 2.

``group_differences``: ``isthmus offsets diff``: which offsets of consumer groups a sync would
    change
``group_offsets``: ``isthmus offsets sync, set, export, import``: offsets of consumer groups
``handover``: ``isthmus takeover`` and ``handback``: take flows over from MirrorMaker 2, and hand
    them back
``offsets``: ``isthmus offsets``: translates offsets of a flow's source to its target, and back

May import: ``orchestration.cli.flows``, ``orchestration.cli.screen``, ``orchestration.handover``,
``orchestration.flows`` and ``replication``.
"""
