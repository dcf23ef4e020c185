"""What runs on this machine and where it keeps its files.

Dagster's services, Spark applications, ports.

``home``: Where Isthmus keeps its local files: the state directory, and what may be lost of it
``instance``: What is written into DAGSTER_HOME: how Dagster stores history and where our code
    server is
``keeper``: Dagster's services and the keeper that restarts them
``launcher``: Start and stop Spark applications as detached processes, and see whether they live
``local_ports``: Ports of this machine that our own services listen on
``local_session``: Everything that ``isthmus run`` starts on this machine, and its end within ten
    seconds

May import: ``replication`` only.
"""
