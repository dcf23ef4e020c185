"""Takeover from MirrorMaker 2 and handback to it.

What both sides show, and the plan carried out.

``handover``: Takes flows over from MirrorMaker 2, and hands them back: checks, plans, writes
    offsets
``mm2_snapshot``: Reads whether MirrorMaker 2 works on a flow, and the position of each partition

May import: ``orchestration.flows``.
"""
