"""Spark's streaming source ``isthmus``: a micro-batch is an epoch, a task is a unit.

``data_source``: Spark's streaming source ``isthmus``: an epoch of copying is a micro-batch, a
    unit is a task
``unit_json``: Specs of units and plans of partitions as JSON, on their way from the driver to
    Spark's planner
``unit_task``: The one place where a unit of the copier meets its network
``worker_daemon``: Spark forks its Python workers from this process, with what they need imported
    already

May import: ``spark_jobs.process``.
"""
