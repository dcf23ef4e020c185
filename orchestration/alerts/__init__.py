"""Alerts: what is reported of flows, when and to which channels, each thing once.

``alert``: One alert as a value: its lines for a chat, and its fields as a webhook gets them
``channel_findings``: What is wrong with the channels of a file: URLs by which nobody would get an
    alert
``channels``: The channels that alerts are posted to: a webhook, and whatever Apprise knows
``conditions``: What is wrong with one flow at one moment, with what an alert needs to say about it
``incidents``: Group what is wrong with flows by its cause: 100 flows behind one dead cluster are
    one incident
``outbox``: Alerts on their way: each is posted to each channel once, and again later where that
    failed
``runbooks``: What to do about each kind of problem, and the section of the runbooks that says more
``transitions``: Decides which incidents are alerts now, in which words, and how often

May import: ``orchestration.flows`` and ``replication``.
"""
