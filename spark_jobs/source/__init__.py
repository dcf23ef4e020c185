"""Spark's streaming source ``isthmus``: each micro-batch is an epoch, each of its tasks a unit.

``data_source``: The Spark streaming source ``isthmus``: a micro-batch is an epoch, a task is a unit
``unit_task``: Runs one unit in a Spark task, with the network of the real clusters
``worker_daemon``: The daemon that forks Spark's Python workers, with their modules already imported

May import: ``spark_jobs.process`` and ``replication``.
"""
