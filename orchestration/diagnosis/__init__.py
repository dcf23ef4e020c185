"""What would keep a file's flows from running well: findings, each with what to do about it.

``addresses``: Judges connections to a cluster's addresses: DNS, port, TLS, login, certificates
``cluster``: Judges what a cluster says of itself: version, brokers, disks, quotas, clock
``copied_topics``: Reads what is compared between topics and their copies: configs, times of
    records, backlog
``diagnosis``: Asks machine and clusters, and puts all findings together
``finding``: One finding of a diagnosis: its level, where it is, what is, and what to do
``machine``: Judges this machine: Java, Spark, the state directory
``plan_findings``: What the plan of a target says about topics that cannot be copied
``rights``: Judges what our users may do on the clusters, against what the flows have to do
``topic_checks``: Compares topics with their copies: record sizes, timestamps, retention

Only ``diagnosis``, ``copied_topics`` and ``machine`` ask anything; nothing is written to a cluster.

May import: ``orchestration.flows``, ``orchestration.services`` and ``replication``.
"""
