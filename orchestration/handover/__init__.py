"""Takeover from MirrorMaker 2 and handback: what both sides show, the plan, its execution.

``handover``: Takes flows over from MirrorMaker 2, and hands them back: checks, plans, writes
    offsets
``mm2_snapshot``: Reads whether MirrorMaker 2 works on a flow, and the position of each partition

May import: ``orchestration.flows`` and ``replication``.
"""
