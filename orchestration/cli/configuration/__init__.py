"""Verbs that explain a file and what it would change.

``acls``: ``isthmus acls needed``: the ACLs that Isthmus needs on each cluster, and no others
``check``: ``isthmus check``: what a file asks for, where each setting came from, what is wrong
    with it
``mermaid``: A topology as a Mermaid flow chart, for pages that draw those
``plan``: ``isthmus plan`` and ``apply``: what would change on which cluster and why, and its
    doing
``topology``: ``isthmus topology``: the flows of a file as a picture, and what topics are called
    where

May import: ``orchestration.cli.flows``.
"""
