"""Flows that really run between real clusters, and what operators do with them.

``command``: The command ``isthmus`` in this process: its output and exit code
``copier_flows``: Units of the copier, in this process or in one that can be killed
``kept_name_clusters``: Clusters that copy to each other under kept names, and the records of each
``killed_operator``: An operator's command, or its run in Dagster, that is killed within a step
``returned_source``: Two clusters that copy to each other; one is lost, and returns with a tail
``spark_driver``: A Spark driver in a process of its own
``state_reader``: A state topic, read again and again with one client
``transform_flows``: A transform's run without Spark: its tasks run in this process
``unit_driver``: One unit, driven as a Spark driver does: desired state, status
``waiting``: What brokers hear of later than the controller that has answered

May import: ``support.copier``, ``support.network``, ``support.records``, ``support.settings``.
"""
