"""Verbs that explain a file and what it would change.

``acls``: ``isthmus acls needed``: prints the minimal ACLs that Isthmus needs on each cluster
``check``: ``isthmus check``: shows a file's flows, the origin of each setting, and the file's
    errors
``check_clusters``: What the clusters say about a file: changed names and aliases, before a flow
    starts
``mermaid``: Writes a topology as a Mermaid flow chart
``plan``: ``isthmus plan`` and ``apply``: shows the changes on each cluster with reasons; makes
    them
``topology``: ``isthmus topology``: draws the flows of a file, with the topic names on each target

May import: ``orchestration.cli.flows``.
"""
