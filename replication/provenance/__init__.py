"""On which cluster records were produced first.

And which copies a flow passes on: no loops without prefixes.

``origins``: Where records were born, told by the producer ids of their batches
``own_offsets``: Which offsets of a partition are a flow's business: told by batch headers,
    without decoding
``producer_registry``: The source's registry of producer ids: which of its batches are copies, and
    by which way
``record_headers``: Record headers that say where a record was born: written by option, and
    understood
``routes``: By which flow the records of each cluster come to each other one, where names are kept

May import: ``naming``, ``client`` and what is below them.
"""
