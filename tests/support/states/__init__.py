"""Each state of flows and partitions, as it happens, and what each place says of it.

``five_views``: What status, metrics, checks, alerts and the report say
``state_stage``: A driver whose partitions are brought into every state, as it happens in life
``states_page``: The tables of states in docs/alerts.md

May import: ``support.brokers``, ``support.flows``, ``support.network``, ``support.records``,
    ``support.security``.
"""
