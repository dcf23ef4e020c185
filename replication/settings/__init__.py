"""The checked settings of a file as values. Each field declares its key.

Kind, default and least value.

``copy_settings``: How the append engine works for a flow
``sections``: The checked configuration: clusters, flows and their settings
``setting_key``: How a section of the settings declares the key in the file that each of its
    fields comes from
``state_policies``: What is done about an event that needs an answer: a person's decision, else
    the flow's policy

May import: ``state``, ``records`` and what is below them. Built by ``replication.config``.
"""
