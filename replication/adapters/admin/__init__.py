"""Topics, configs, ACLs and offsets over confluent-kafka's AdminClient.

``checked_client``: Asks a cluster by librdkafka's admin client, and checks what it answers
``deletions``: Deletes topics and consumer groups; what is not there counts as deleted
``end_offsets``: Reads the ends of partitions, also where the client's knowledge of leaders is stale
``first_login``: Logs in once before a client of librdkafka is made
``kafka_acls``: Converts ACLs between the client library's classes and ours
``kafka_admin``: A cluster's topics, configs and offsets, read and changed with confluent-kafka
``kafka_errors``: Translates the client library's errors into ours
``partition_leaders``: Which partitions have a leader as far as an admin client knows: it is asked
    about no others
``planned_cluster``: A cluster client for repeated planning, which lists topics in the cheapest way
``topic_descriptions``: Converts topics and their configs between the client library's classes and
    ours
``worker_group``: Read how many workers the group of a Kafka Connect cluster has

May import: ``auth``, ``wire`` and what is below ``adapters``.
"""
