"""Producing: batches on their way to the target, their answers, transactions.

``producers``: The producers of a unit: its own, and one for each way of records that it passes on
    (P3)
``sender``: Send lanes' pieces to the target's brokers and deal with the answers
``transaction_outcome``: See how a transaction of ours ended in each of its partitions
``transactions``: Records and their anchors in one transaction of the target, for lanes that
    cannot be counted

May import: ``replication.copier.takeover``, ``replication.copier.partition`` and what is below
``replication.copier``.
"""
