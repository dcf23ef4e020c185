"""Runs of ``isthmus verify``: Spark compares the ranges copied since the last good run.

``orchestration.flows.comparison`` compares all records each time, in the command's own process.

``differences``: Compares ranges that differ record by record, and names what is wrong
``flow_verification``: One verification of a flow: plan, compare, look into what differs, remember
``outcome``: What a verification found, and its verdict
``partition_outcome``: The outcome of a partition: from its plan, and with what comparisons of its
    parts found
``partition_plan``: Which ranges of a partition are compared, and why it cannot be
``report_files``: Where reports are stored, and for how long
``spark_process``: Compares ranges by a Spark job in a process of its own
``transform_intervals``: Between which points the results of a transform are compared
``transform_plan``: Which offsets of both sides are compared of a transform, and why they cannot be
``transform_process``: Compares what a transform wrote by a Spark job in a process of its own
``transformed_topics``: Verifies the topics of a flow that are transformed: with what the transform
    makes of the source
``verification_report``: A verification as JSON and as a page

May import: ``orchestration.flows``, ``orchestration.services`` and ``replication``. No Dagster.
"""
