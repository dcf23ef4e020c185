"""Records as columns of Arrow and numpy, without a Python object a record.

``record_columns``: The columns that SQL and functions see, and the numbers of results
``decoded_batches``: Record batches as columns
``encoded_records``: Records as they lie in batches, for what a transform does not change
``record_kinds``: Which records are the same to a transform
``encoded_batches``: Columns as record batches
``avro_documents``: Keys and values in Avro as JSON
``sql_rows``: The rows that SQL is given

May import: ``replication``.
"""
