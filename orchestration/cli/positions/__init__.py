"""Verbs about offsets, groups and the takeover from MirrorMaker 2.

``group_offsets``: The verbs of ``isthmus offsets`` that are about consumer groups
``handover``: ``isthmus takeover`` and ``handback``: take flows over from MirrorMaker 2, and hand
    them back
``offsets``: ``isthmus offsets``: offsets of a flow's source as offsets of its target, and back

May import: ``orchestration.cli.flows``.
"""
