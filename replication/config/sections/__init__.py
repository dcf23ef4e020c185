"""The typed sections of a flow, read from its resolved keys.

``clients``: The clients' settings of each flow and cluster, placeholders unresolved
``flow_sections``: Build the sections of a flow that say what it copies, and how
``flows``: Which flows a file asks for
``mm2_settings``: Build what a flow writes in MirrorMaker 2's formats, and where MirrorMaker 2
    keeps its state
``naming``: Read how a flow's topics are called on the target
``reading``: Read the sections of the settings, and remember where each value came from
``renaming``: Read ``topics.rename.regex`` and ``topics.rename.replacement``
``task_settings``: Build the sections that say what a flow does besides copying, and how often
``top_settings``: Build the sections of a file that belong to no flow

May import: ``replication.config.keys``, ``replication.config.file`` and what is below them.
"""
