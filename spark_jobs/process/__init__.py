"""The process of a driver.

Its JVM, Spark session, files, identity, and the watchdog of its loop.

``appdir``: The files of one Spark application under the state directory
``identity``: Who this driver is, and whether another one on this machine still lives
``jvm``: The JVM under a Spark driver: started by us, so that it starts fast and its death is seen
``loop_watchdog``: Notices that a driver's loop stands still: a JVM that hangs answers no call,
    and raises nothing
``spark_session``: One way to build a SparkSession
``startup_timer``: How long the steps of a driver's start took

May import: ``replication`` only.
"""
