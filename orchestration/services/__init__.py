"""What runs on this machine and its files: Dagster's services, Spark applications, ports.

``home``: The state directory with Isthmus' local files, and the environment's settings for it
``instance``: Writes Dagster's instance files: storage, run limits, and the address of the code
    server
``keeper``: Starts Dagster's services, and restarts one that dies
``launcher``: Starts and stops Spark applications as detached processes, and checks whether they
    run
``local_ports``: Chooses and checks the local ports of Isthmus' services
``local_session``: Starts Dagster and the applications for ``isthmus run``; stops all within ten
    seconds

May import: ``replication`` only.
"""
