"""What runs on this machine: Kafka brokers for tests and demos, Java, processes, files.

``broker_config``: What a local broker is told: its server properties, logging and JVM options
``files``: Files that others read while they are written
``java``: The Java that runs brokers, Spark and the jar fetcher on this machine
``kafka_jars``: Kafka's own jars, fetched once and kept outside the repository
``local_kafka``: Real Kafka clusters on this machine: KRaft brokers in processes of their own
``local_network``: Ports of this machine, and whether a broker behind one is ready
``process_tree``: The processes below another one: to find who does the work
``processes``: Processes that outlive the command that started them, found again by a pid file

May import: the core.
"""
