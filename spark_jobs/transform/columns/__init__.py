"""Records as columns of Arrow and numpy, without a Python object a record.

``record_columns``: The columns that SQL and functions see, and the numbers of results
``decoded_batches``: Record batches as columns
``decoded_records``: The records of some batches, and columns of them
``header_parts``: Finds names and values of the headers of many records at once
``sized_parts``: Reads numbers, and parts that begin with their lengths, at many places at once
``encoded_records``: Records as they lie in batches, for what a transform does not change
``record_kinds``: Which records are the same to a transform
``encoded_batches``: Columns as record batches
``avro_documents``: Keys and values in Avro as JSON
``sql_rows``: The rows that SQL is given

May import: ``replication``.
"""
