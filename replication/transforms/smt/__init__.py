"""Connect's single message transforms, by name and with Connect's semantics. Pure.

``chain``: Applies the SMTs of ``transforms`` in order, each where its predicate, or the negation,
    holds
``catalogue``: Which of Connect's transforms and predicates there are, and their settings
``message``: A record as a chain of single message transforms sees it
``predicates``: Connect's predicates: TopicNameMatches, HasHeaderKey, RecordIsTombstone
``record_smts``: Connect's transforms of whole records: Filter, RegexRouter, TimestampRouter,
    headers
``field_smts``: Connect's transforms of fields: ReplaceField, MaskField, ValueToKey, on JSON without
    schemas
``connect_json``: JSON as Connect's JsonConverter reads and writes it without schemas
``java_maps``: The order in which Java's HashMap lists its keys
``java_values``: Numbers, literals and dates as Java prints them

A transform sees the name that the topic has on the target, as in MirrorMaker 2. Semantics are those
of ``org.apache.kafka.connect.transforms`` in Kafka 3.9 and 4.x; tests compare both byte for byte.

May import: ``transformed_record``, ``naming``, ``settings`` and ``errors``.
"""
