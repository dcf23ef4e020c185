"""Events for Dagster about topics, background tasks and clusters, and how often they are sent.

``cluster_events``: Events about one cluster: its facts, and whether it answers
``cluster_sensor``: The sensor that observes all clusters every minute, and the check for a person
    to run
``flow_events``: All events about one flow beside those of its stream, and what is remembered of
    them
``named_topics``: Events about the topics that have an asset of their own: figures, and a lag check
``task_rounds``: Events about the background tasks that a driver performs
``topic_events``: Topics as partitions of their flow's asset: new ones, gone ones, changed states

Every event is a row that Dagster never deletes by itself: changes at once, the rest at a bounded
rate (docs/dagster.md has the figures).

May import: ``assets``, ``background_tasks``, ``report_events``, ``reports``, ``resources``,
``orchestration.flows``, ``orchestration.services`` and ``replication``.
"""
