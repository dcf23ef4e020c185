"""Bounded jobs that write records of a cluster to files.

``record_reader``: Reads given offsets of one partition, in a Spark task
``tail_export``: Writes records of given offsets to files: ``python -m spark_jobs.export.tail_export
    REQUEST``

May import: ``spark_jobs.process`` and ``replication``.
"""
