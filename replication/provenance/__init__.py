"""On which cluster a record was produced first, and which copies a flow passes on: no loops.

``anchored_producers``: What the anchors on a cluster say of the producer ids that flows have
    appended with there
``origins``: Recognizes copies by producer id: where a batch was produced and which clusters it
    passed
``own_offsets``: Which offsets of a partition belong to a flow, found by batch headers, without
    decoding
``producer_registry``: Reads the source's registry of producer ids: which batches are copies, and
    their path
``record_headers``: Origin headers: names the cluster where a record was produced; written by option
``record_rules``: Which records of one source partition a flow copies, along which path and with
    which headers
``routes``: Routes: which flow brings one cluster's records to another, where topic names are kept

May import: ``naming``, ``client`` and what is below ``client``.
"""
