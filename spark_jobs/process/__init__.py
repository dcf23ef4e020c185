"""The process of a driver: JVM, Spark session, files, identity, the watchdog of its loop.

``announced``: Logs a file's warnings and effective patterns once a start, and again when they
    changed
``appdir``: Paths, lock and JSON files of one Spark application
``bounded_session``: Spark for a job that ends by itself: with a budget of its own, beside the
    streams
``identity``: Identifies this driver process, and tells whether another on this machine is gone
``job_process``: The process of a bounded job: reads its request, and ends with one line where it
    fails
``jvm``: Starts and stops the driver's JVM, fast by a class archive, and detects its exit
``jvm_environment``: What of this machine reaches the driver's JVM
``log_format``: The format of a driver's log: text, or a JSON object a line
``logs``: Lets structlog and the libraries' loggers write a driver's log in the chosen format
``loop_watchdog``: Detects that the driver's main loop hangs, as when a JVM does not answer a call
``spark_session``: Spark's settings for a driver, and the SparkSession built from them
``startup_timer``: Measures how long each step of a driver's start takes

May import: ``replication``.
"""
