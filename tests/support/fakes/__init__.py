"""Stand-ins for clusters, logs, flows and a disk where nothing has to run.

``fake_flows``: Flows without clusters: state topics in memory, processes as flags
``full_disk``: A disk without space: files are made on it, and stay empty
``log_cluster``: Logs whose content is known, as a ``Network`` reads them
``memory_admin``: Clusters that implement ``client.admin.ClusterAdmin``, and the clients of a file
``memory_groups``: Consumer groups and their committed offsets, as one cluster holds them
``memory_network``: A cluster that implements ``Network``, and keeps what brokers keep of producers
``memory_topics``: A cluster whose topics may hold records, and a store of state records
``plan_clusters``: Clusters with flows into B, and the planner of these flows
``scripted_network``: A cluster whose responses a test writes; they pass through the wire format
``segmented_log``: A partition at its broker: segments with a sparse index, searched as a broker
    does
``state_logs``: State topics that keep each record, as their logs do

May import: ``support.records``, ``support.settings``.
"""
