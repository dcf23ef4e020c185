"""What a transform does to single records. Pure.

``transformed_record``: A record between its source and its targets, and what becomes of it
``topic_transforms``: Which transform a topic has: the first one of the flow whose pattern matches
    its name
``key_partitioner``: The partition that Kafka's clients choose by a key: murmur2, as their
    DefaultPartitioner
``smt``: Connect's single message transforms, by name and with Connect's semantics

The engine that runs transforms is in ``spark_jobs/transform``.

May import: ``naming``, ``settings`` and ``errors``.
"""
