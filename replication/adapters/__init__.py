"""All I/O: the clients of clusters, for the protocols of ``client``; key stores, processes.

``reachability``: Asks clusters whether they answer: all of them at once, each at all of its
    addresses
``clients``: The Kafka clients of a file's flows, one for each set of properties, kept for the
    process
``followed_file``: Follows a configuration file while it is edited: valid content is in force,
    broken is not
``group_syncs``: The group syncs of a file's flows: created on first use, each aware of the others
``mm2_writers``: Writes a flow's records in MirrorMaker 2's formats, with the connections that this
    needs
``offset_reader``: Translates a flow's offsets outside Spark: for the command, the driver and
    Dagster
``schema_registry``: Fetches schemas from a schema registry that answers as Confluent's does, each
    one once
``unit_json``: Unit specs, reports and partition plans as JSON, for the processes of one driver
``unit_sockets``: Sockets by which Spark tasks of one machine reach the process that already copies
    a unit
``admin``: Topics, configs, ACLs and offsets over confluent-kafka's AdminClient
``auth``: How a client logs in: Java client properties for both libraries, key stores, OAuth tokens
``local``: Adapters to this machine: Kafka brokers for tests and demos, Java, processes, files
``probes``: Looks at a cluster once, for a diagnosis: each address step by step, and what it says of
    itself
``local_secured``: Clusters on this machine whose clients log in: certificates, key stores, users,
    least rights
``topics``: Isthmus' own topics and MirrorMaker 2's, and ordinary records: read and written
``wire``: Kafka's protocol for the append engine; Fetch and Produce are framed without a copy

May import: what is below ``adapters``. Nothing of the core imports it.
"""
