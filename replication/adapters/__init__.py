"""Everything that touches a cluster.

A key store or a process; implements the protocols of the core.

``clients``: The real clients of a file's flows, one for each set of properties, kept as long as
    the process
``mm2_writers``: What writes a flow's records in MirrorMaker 2's formats, with its connections
``offset_reader``: Translate a flow's offsets from a plain process: command line, driver, Dagster
``unit_sockets``: How tasks of one machine find the process that copies a unit already
``admin``: Topics, configs, ACLs and offsets over confluent-kafka's AdminClient.
``auth``: How a client logs in: Java client properties for both libraries, key stores, OAuth
    tokens.
``local``: What runs on this machine: Kafka brokers for tests and demos, Java, processes, files.
``topics``: Isthmus' own topics and MirrorMaker 2's, and ordinary records: read and written.
``wire``: Kafka's protocol for the append engine: own framing for Fetch and Produce, which copies
    no record.

May import: all other rooms of ``replication``; nothing of the core imports it.
"""
