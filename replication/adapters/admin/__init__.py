"""Topics, configs, ACLs and offsets over confluent-kafka's AdminClient.

``kafka_acls``: Rights on a cluster between the client library's words and ours
``kafka_admin``: A cluster's topics and offsets, asked and changed over confluent-kafka
``kafka_errors``: The client library's errors, as ours
``planned_cluster``: A cluster for who plans again every few seconds: its topics are listed in the
    cheapest way
``topic_descriptions``: Topic configs between the client library's words and ours
``worker_group``: The group in which the workers of Kafka Connect meet

May import: ``replication.adapters.auth`` and the core.
"""
