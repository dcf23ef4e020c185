"""What runs on this machine and its files: Dagster's services, Spark applications, ports.

``asset_names``: Names of Dagster's assets, for those who look for them without Dagster's
    definitions
``edited_definitions``: Notices that Dagster's definitions are older than the configuration file
``instance``: Writes Dagster's instance files: storage, run limits, and the address of the code
    server
``keeper``: Starts Dagster's services, and restarts one that dies
``launcher``: Starts and stops Spark applications as detached processes, and checks whether they run
``local_ports``: Chooses and checks the local ports of Isthmus' services
``local_session``: Starts Dagster and the applications for ``isthmus run``; stops all within ten
    seconds
``running_here``: What runs from a state directory: Dagster's services and Spark applications
``spark_job``: Runs a bounded Spark job in a process of its own: ``python -m JOB REQUEST``
``state_directory``: The state directory with Isthmus' local files, and the environment's settings
    for it

May import: ``replication``.
"""
