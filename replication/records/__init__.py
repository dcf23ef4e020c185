"""Bytes of a Kafka log: record batches, the records in them, and how two logs are compared.

``aborted_filter``: Which batches are not delivered: transaction markers, and those of aborted
    transactions
``batch``: Record batches, format 2 (KIP-98), as bytes: iterate, validate, restamp
``batch_comparison``: Compares two logs batch by batch, up to the first record that differs
``codec``: Decodes, splits and encodes the records of a batch, where it cannot be copied as bytes
``compare``: Compares a source and a target partition: merges two streams of record fingerprints
``compare_compacted``: Compares partitions of which either side is compacted: by key, not record by
    record
``comparison_result``: Result of comparing a partition with its copy: kinds of differences, counts
    and examples
``compression``: Compresses and decompresses record batches, by the codec in a batch's attributes
``content_search``: Finds a batch in a log by the content of its records, where offsets do not help
``control_batches``: Transaction markers: the control batches that commit or abort a transaction
``keyed_log``: The records of a compacted log by key and content, and which of them are copies of
    which
``record_fields``: Decodes the records of a batch to their fields in one pass: offset, time, key,
    value, headers

May import: ``model`` and ``errors``. Pure.
"""
