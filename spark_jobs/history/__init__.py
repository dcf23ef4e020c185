"""A bounded job that appends records of files to the copies of a flow. For ``isthmus backfill``.

``file_records``: Records in Parquet files or JSON lines as a DataFrame
``json_records``: A record in a line of JSON
``append_task``: Appends the records of some partitions in transactions
``file_backfill``: The job, by ``python -m``: what the files have, and all of it once

May import: ``transform``, ``process`` and ``replication``.
"""
