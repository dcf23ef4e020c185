"""Flows as a person asks about them.

Observed, compared, paused; shared by the command and Dagster.

``clusters``: Clients of the clusters of a configuration, made once a process and kept
``comparison``: Compares topics of two clusters, partition by partition: the user's own proof of a
    copy
``group_rows``: Positions of groups as rows for people and files: compared, exported and imported
``intents``: Write down what a person wants of a flow; the supervisor and the driver obey
``observe``: Look at flows: what people want, what drivers say, what is copied and what is there
    to copy
``own_records``: What of a topic is a flow's own where several write into topics of the same name
``status_view``: What a person is shown of all flows at one moment: the data behind ``isthmus
    status``

May import: ``orchestration.services``.
"""
