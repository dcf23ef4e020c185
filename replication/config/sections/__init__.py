"""The typed sections of a flow, read from its resolved keys.

``clients``: The client settings of each flow and cluster, placeholders unresolved
``flow_sections``: Builds the sections of a flow about topics, groups and copying
``flows``: Decides which flows a file enables, and refuses a file that leaves it open
``metrics``: Builds the section of the metrics, and checks before a start that its keys fit together
``mm2_settings``: Builds the settings of MirrorMaker 2's heartbeats, checkpoints, offset syncs and
    state
``naming_section``: Reads the naming settings of a flow: policy, rename rule, map file and merged
    topics
``rename_rule``: Reads and checks ``topics.rename.regex`` and ``topics.rename.replacement``
``schema_registry``: Reads how a flow reaches a schema registry; placeholders stay unresolved
``section_reader``: Reads sections of the settings and records which line set each value
``task_settings``: Builds the settings of the periodic tasks of a flow: configs, ACLs and group
    offsets
``top_settings``: Builds the sections that belong to no flow: Spark, verification, alerts, what
    Dagster loads
``transforms``: Reads the transforms of a flow: ``transform.*``, and Connect's with their predicates

May import: ``keys``, ``file``, ``replication.transforms``, ``naming``, ``settings`` and ``errors``.
"""
