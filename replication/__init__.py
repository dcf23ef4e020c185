"""The core of Isthmus: what to copy, where to, and how each record arrives exactly once.

``durations``: Durations as operators write them: ``30s``, ``5m``, ``1h``, or a plain number
``errors``: The exceptions of Isthmus: configuration, environment, cluster unavailable or
    rejecting
``model``: Shared values: partitions, offsets, producer ids, flow and partition states, partition
    plans
``adapters``: Everything that touches a cluster, a key store or a process; implements the
    protocols of the core.
``client``: What the core asks of a Kafka cluster: protocols that ``replication.adapters``
    implements, their values, and readers over them.
``config``: From a properties file to checked settings; every problem with its file and line.
``copier``: The append engine: each record once, without transactions on the data path wherever
    records can be counted.
``mm2``: MirrorMaker 2's own records as bytes, and the takeover from it and the handback to it.
``naming``: Which topics and groups take part in a flow, and what a topic is called on the target.
``offsets``: Offsets of one side as offsets of the other, exactly, and consumer groups carried
    over.
``planning``: What has to change on a target, topic by topic: topics, partitions, configs, ACLs;
    planned, explained and applied.
``provenance``: On which cluster records were produced first, and which copies a flow passes on:
    no loops without prefixes.
``records``: Bytes of a Kafka log: record batches, the records in them, and how two logs are
    compared.
``settings``: The checked settings of a file as values. Each field declares its key, kind, default
    and least value.
``state``: Records of Isthmus' own topics on the target cluster, as JSON; pure: bytes in, values
    out, and back.
``supervision``: What is observed of flows, and what follows: lag, health, losses, leases, which
    application to start.

May import: itself only. ``spark_jobs`` and ``orchestration`` import it, never the other way
round.
"""
