"""The Spark side: an application a target cluster, a streaming query a flow, a task a unit.

``executor``: Becomes an executor of Spark in a pod that Spark has asked Kubernetes for
``memo``: Keeps the last result of a pure function whose arguments rarely change
``replicate``: The driver of one Spark application: ``python -m spark_jobs.replicate --config F
    --target B``
``watch``: Keep one driver process running on this machine: ``python -m spark_jobs.watch``
``budget``: How many bytes a second a flow copies, and why it is less than the file says.
``driver``: The driver's loop: leases, streaming queries, background tasks, states of flows.
``export``: Bounded jobs that write records of a cluster to files.
``history``: A bounded job that appends records of files to the copies of a flow.
``metrics``: Metrics of a driver: collected when Prometheus asks, served over HTTP.
``planning``: What a flow copies now: topics found, names checked, delivery modes, the units'
    template.
``process``: The process of a driver: JVM, Spark session, files, identity, the watchdog of its
    loop.
``source``: Spark's streaming source ``isthmus``: a micro-batch is an epoch, a task is a unit.
``transform``: Transforms the records of topics: SQL, functions, single message transforms.
``verification``: Bounded jobs that verify what a flow copied or transformed. For ``isthmus
    verify``.

May import: ``replication``. Nothing else imports pyspark.
"""
