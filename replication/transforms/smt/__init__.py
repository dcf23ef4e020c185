"""Connect's single message transforms, by name and with Connect's semantics. Pure.

``chain``: Builds the chain that ``transforms`` lists, and applies it to records
``catalogue``: Which transforms and predicates there are, and their settings
``message``: A record as a chain sees it
``predicates``: TopicNameMatches, HasHeaderKey, RecordIsTombstone
``record_smts``: Filter, RegexRouter, TimestampRouter, InsertHeader, DropHeaders
``field_smts``: ReplaceField, MaskField, ValueToKey
``connect_json``: JSON as Connect's JsonConverter reads and writes it
``java_maps``: The order in which Java's HashMap lists its keys
``java_values``: Numbers, literals and dates as Java prints them

A transform sees the name that the topic has on the target, as in MirrorMaker 2. Semantics are those
of ``org.apache.kafka.connect.transforms`` in Kafka 3.9 and 4.x; tests compare both byte for byte.

May import: ``transforms.transformed_record``, ``naming``, ``settings`` and ``errors``.
"""
