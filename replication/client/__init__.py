"""Protocols of what the core asks of a cluster; the clients themselves are in ``adapters``.

``acl_values``: ACL bindings as values: resource, pattern, principal, operation, permission
``admin``: Interfaces to a cluster's topics, configs and ACLs and to Isthmus' state topics
``cluster_facts``: What a cluster shows of itself beside topics: addresses, disks, quotas, its
    clock, our rights
``cluster_ids``: Compares the ids of a flow's clusters with the ids that its addresses led to before
``error_codes``: Kafka's error codes, by name: those that Isthmus handles
``fetch_session``: Fetch sessions (KIP-227) and the options of a Fetch request
``fetch_values``: Values of Fetch requests and responses, and the buffer that holds a response
``log_end``: End offset of a partition, confirmed by a second request when it is lower than expected
``moment``: A moment of this process, and the time since, also that in which the machine was
    suspended
``network``: Interface to a cluster's brokers: metadata, Fetch, Produce, offsets and transactions
``preferred_replicas``: Which partitions are fetched from a replica in our rack instead of their
    leader (KIP-392)
``producer_identity``: Producer identity: a transactional id, its producer id and epoch, and the
    driver generation
``state_topic``: One of Isthmus' own topics, over the connections of a unit: what it holds, and what
    is appended

May import: ``settings`` and what is below ``settings``.
"""
