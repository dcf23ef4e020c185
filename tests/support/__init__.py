"""Helpers of tests: what a test starts, what it stands in for, and where it looks.

No room has a test. A helper that one test needs stands in that test's module.

``brokers``: Brokers with logins, certificates and authorizers, and MirrorMaker 2: all really run
``copier``: The append engine's values, and units that copy between clusters in memory
``fakes``: Clusters, logs and flows in memory, each behind a protocol of the product
``flows``: Units, drivers and transforms that copy between real clusters, and operators' commands
``network``: Servers that are no Kafka broker, or a bad one; proxies; a scrape
``records``: Records: made, produced, read, encoded by others, and logs whose content is known
``security``: Certificates, planted secrets, and what others could reach of a process
``settings``: Configs, properties files, and the settings that Kafka itself declares
``states``: Each state of flows and partitions: provoked, and read where operators see it

May import: the product, ``bench``, ``chaos``. Each room imports rooms below it: states; flows;
    brokers, copier and network; fakes; records, security and settings.
"""
