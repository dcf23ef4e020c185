"""A bounded job that appends records of files to the copies of a flow. For ``isthmus backfill``.

``file_records``: Records in Parquet files or JSON lines as a DataFrame, from any place that Spark
    can read
``json_records``: A record in a line of JSON, as exports of diverged tails have it: text, or bytes
    in base64
``append_task``: Appends the records of some partitions, in order, in transactions that also hold
    the positions
``file_backfill``: Appends records of files to the copies of a flow: ``python -m … REQUEST``

May import: ``spark_jobs.transform``, ``spark_jobs.process`` and ``replication``.
"""
