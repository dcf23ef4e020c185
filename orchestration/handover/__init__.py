"""Takeover from MirrorMaker 2 and handback to it.

What both sides show, and the plan carried out.

``handover``: Takes flows over from MirrorMaker 2, and hands them back: looks, plans, writes
``mm2_snapshot``: Looks at a flow's two clusters on the way over from MirrorMaker 2: does it rest,
    and where

May import: ``orchestration.flows``.
"""
