"""The core of Isthmus: what to copy, where to, and how each record arrives exactly once.

``clock``: The clock of stored records
``durations``: Durations as operators write them (``30s``, ``5m``, or a plain number), and moments
    in UTC
``errors``: The exceptions of Isthmus: configuration, environment, cluster unavailable or rejecting
``model``: Shared values: partitions, offsets, producer ids, flow and partition states, partition
    plans
``adapters``: All I/O: the clients of clusters, for the protocols of ``client``; key stores,
    processes
``client``: Protocols of what the core asks of a cluster; the clients themselves are in ``adapters``
``config``: From a properties file to checked settings; every problem with its file and line
``copier``: The append engine: each record once, without transactions wherever records can be
    counted
``mm2``: MirrorMaker 2's own records as bytes, and the takeover from it and the handback to it
``naming``: Which topics and groups take part in a flow, and what a topic is called on the target
``offsets``: Offsets of one side as offsets of the other, exactly, and consumer groups carried over
``planning``: Plans of a target: topics, configs and ACLs that have to change; planned, explained,
    applied
``provenance``: On which cluster a record was produced first, and which copies a flow passes on: no
    loops
``records``: Bytes of a Kafka log: record batches, the records in them, and how two logs are
    compared
``recovery``: Rules of failover, switchover, failback, drill: steps, where a flow stood, what may be
    missing
``settings``: The checked settings of a file: each field declares its key, kind, default and least
    value
``state``: Records of Isthmus' own topics on the target cluster, as JSON
``supervision``: What is observed of flows and what follows: lag, health, losses, leases, restarts
``transforms``: What a transform does to single records
``verification``: Rules of a verification: which ranges of source and target should be equal, and
    whether they are

``docs/architecture.md`` has a table "Where is the rule that ...?", in which to look first.

May import: no other room. ``spark_jobs`` and ``orchestration`` import it, never the other way
round.
"""
