"""Records as columns of Arrow and numpy, without a Python object a record.

``record_columns``: Records as Arrow columns: what SQL and functions see, and what comes back from
    them
``decoded_batches``: Decodes record batches to columns of Arrow and numpy, without an object a
    record
``decoded_records``: The records of some batches, and columns of them
``header_parts``: Finds names and values of the headers of many records at once
``sized_parts``: Reads numbers, and parts that begin with their lengths, at many places at once
``encoded_records``: Records as they lie in decompressed batches: what a result takes over of them
    stays as it is
``record_kinds``: Which records are the same to a transform: it is applied to the first one of each
    kind alone
``encoded_batches``: Encodes records to record batches from Arrow columns, without an object a
    record
``avro_documents``: Decodes Avro, as Confluent's serializers write it, to JSON documents, which SQL
    then sees
``sql_rows``: The rows that SQL is given: records with their numbers, keys and values in Avro as
    JSON

May import: ``replication``.
"""
