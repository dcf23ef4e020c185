"""Verbs that explain a file and what it would change.

``acls``: ``isthmus acls needed``: prints the minimal ACLs that Isthmus needs on each cluster
``check``: ``isthmus check``: shows a file's flows, the origin of each setting, and the file's
    errors
``check_clusters``: What the clusters say about a file: changed names and aliases, before a flow
    starts
``doctor``: ``isthmus doctor``: connects to a file's clusters and says what would keep flows from
    running
``init``: ``isthmus init``: writes a first properties file, from flags or from answers to questions
``mermaid``: Writes a topology as a Mermaid flow chart
``plan``: ``isthmus plan`` and ``apply``: shows the changes on each cluster with reasons; makes them
``set_key``: ``isthmus set``: sets one key of a file, or removes it, unless ``check`` would refuse
    that
``set_refusal``: Says why ``isthmus set`` rejects a change: what is wrong with the key, and what
    else of the file
``topology``: ``isthmus topology``: draws the flows of a file, with the topic names on each target

May import: what is below ``orchestration.cli.configuration``, ``orchestration.alerts``,
``orchestration.diagnosis``, ``orchestration.flows``, ``orchestration.services`` and
``replication``.
"""
