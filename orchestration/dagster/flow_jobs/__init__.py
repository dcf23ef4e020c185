"""Jobs about one flow, chosen from a list: pause, restart, plan, sync, failover and others.

``approval``: A run that waits for a person's approval: it says so in its tags and its log
``backfill_job``: What a run of a backfill does in Dagster: the command's work, logged as it goes on
``batch_job``: What a run of a batch flow does in Dagster: the command's work, with the ranges as
    metadata
``chosen_flow``: The flow of a run: the flows of the file are the partitions of these jobs
``desired_state``: Pauses, resumes or stops a flow, and waits until it is so
``drill_job``: What a run of a drill does in Dagster: the command's steps, with the figures as
    metadata
``halted_partitions``: Lists the halted partitions of a flow, or sets how they continue
``job_list``: All jobs about one flow
``planned_changes``: Shows what a flow's target lacks, or makes these changes
``recovery_jobs``: Dagster's jobs that move clients: the commands' steps, with the report as
    metadata
``restart_job``: Stops and starts the Spark application of a flow
``spark_in_run``: Compares ranges in the Spark session of a run, by the resource of
    ``dagster-pyspark``
``sync_now``: Runs the background tasks of a flow at once
``verify_job``: What a run of a verification does in Dagster: as the command, with the figures as
    metadata

None of them needs any input but the flow; what changes more than asked at first sight shows a plan
by default. Each reports what it changed: in its log, as metadata of its output, and as an
observation of the flow's stream.

May import: ``assets``, ``background_tasks``, ``jobs``, ``resources``, ``orchestration.drill``,
``orchestration.failback``, ``orchestration.switchover``, ``orchestration.backfill``,
``orchestration.recovery``, ``orchestration.verification``, ``orchestration.flows``,
``orchestration.services``, ``replication`` and ``spark_jobs.verification.verification_job``. The
last one in ``spark_in_run`` alone: decision 0018.
"""
