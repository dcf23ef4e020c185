"""Alerts: what is told about flows, when, once, and to which channels.

``alert``: One alert: what a person reads in a chat, and what a program reads from a webhook
``channels``: The channels that alerts are posted to: a webhook, and whatever Apprise knows
``conditions``: What is wrong with one flow at one moment, with what an alert needs to say about it
``incidents``: Group what is wrong with flows by its cause: 100 flows behind one dead cluster are
    one incident
``outbox``: Alerts on their way: each is posted to each channel once, and again later where that
    failed
``runbooks``: What to do about each kind of problem, and the section of the runbooks that says more
``transitions``: Decide which incidents are told now: when they begin and end, each once, not too
    often

May import: ``orchestration.flows``.
"""
