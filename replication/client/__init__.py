"""What the core asks of a Kafka cluster.

Protocols that ``replication.adapters`` implements, their values, and readers over them.

``acl_values``: TODO replication.client.acl_values
``admin``: What the core asks of the outside world
``error_codes``: Kafka's error codes, by name: those that anything here decides by
``fetch_session``: How to ask a broker for data, and what it remembers of that: fetch sessions
    (KIP-227)
``fetch_values``: What a Fetch asks for and what comes back
``log_end``: An end offset that is too low is asked for again before it is believed
``network``: What the core asks of a cluster's brokers
``preferred_replicas``: Which partitions are read from a replica in our rack instead of from their
    leader (KIP-392)
``producer_identity``: Who appends: a transactional id, the producer id and epoch that a broker
    gave for it
``read_committed``: Records of transactions, kept back until their markers show how they ended
``state_log``: Read and append the single-partition state topics over the unit's own connections

May import: ``records``, ``state``, ``settings`` and the ground (``model``, ``durations``,
``errors``).
"""
