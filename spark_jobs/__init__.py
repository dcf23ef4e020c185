"""The Spark side: one application per target, one streaming query per flow, one task per unit.

``executor``: Becomes an executor of Spark in a pod that Spark has asked Kubernetes for
``memo``: Keeps the last result of a pure function whose arguments rarely change
``replicate``: The driver of one Spark application: ``python -m spark_jobs.replicate --config F
    --target B``
``watch``: Keep one driver process running on this machine: ``python -m spark_jobs.watch``
``budget``: How many units a flow has and how many bytes a second it copies, if less than the file
    says why
``driver``: The driver's loop: leases, parts of flows, background tasks, edits of the file
``export``: Bounded jobs that write records of a cluster to files
``history``: A bounded job that appends records of files to the copies of a flow
``metrics``: Metrics of a driver: collected when Prometheus asks, served over HTTP, or pushed over
    OTLP
``planning``: Plans of a running flow: topics found, names checked, delivery modes, the units'
    template
``process``: The process of a driver: JVM, Spark session, files, identity, the watchdog of its loop
``source``: Spark's streaming source ``isthmus``: each micro-batch is an epoch, each of its tasks a
    unit
``transform``: Transforms the records of a flow's topics by Spark: SQL, functions, single message
    transforms
``verification``: Spark's side of a verification: bounded jobs whose tasks compare offset ranges

May import: ``replication``. Nothing else imports pyspark.
"""
