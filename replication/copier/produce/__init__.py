"""Producing: batches on their way to the target, their answers, transactions.

``append_lease``: Whether a unit may still append: whether it knows, since recently, that no other
    unit took over
``lease_renewal``: Renew a unit's lease while its producer is the target's current one; else end the
    unit
``producers``: The producers of a unit: its own, and one for each replication path that it forwards
``sender``: Send batches to the target's brokers: how much in a request, and when again after an
    error
``transaction_outcome``: Verify by its markers that a transaction was committed in each of its
    partitions
``transactions``: Commit records and their anchors in one target transaction, for compacted topics

May import: ``takeover``, ``foreign_writers``, ``partition``, ``spec`` and what is below ``copier``.
"""
