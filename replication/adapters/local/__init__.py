"""Adapters to this machine: Kafka brokers for tests and demos, Java, processes, files.

``broker_classes``: The archive of a local broker's classes: ``python -m
    replication.adapters.local.broker_classes``
``broker_config``: The server properties, logging and JVM options of a local broker
``broker_storage``: The formatted storage of a new broker, without starting a JVM for each
``class_archive``: Archives of loaded classes, with which a JVM starts in half the time
``cluster_file``: Keeps the ids of a flow's clusters in a file of the driver's state directory
``files``: Files of the state directory: no other user reads them, and each is whole or not there
``java``: Finds the Java that runs brokers, Spark and the jar fetcher on this machine
``kafka_jars``: Kafka's jars, fetched once and cached outside the repository
``local_kafka``: Kafka clusters on this machine: KRaft brokers, each in its own process
``local_network``: Free ports of this machine, and whether a broker behind one is ready
``process_tree``: The child processes of a process
``processes``: Background processes that outlive the command that started them, found by a pid file
``pyspark_home``: Finds our PySpark, also where PYTHONPATH, set for other Spark jobs, puts another
    one first
``user``: The user that this process runs as: its id may have no name, and no home that is writable

May import: what is below ``adapters``.
"""
