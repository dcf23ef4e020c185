"""The checked settings of a file as values. Each field declares its key.

Kind, default and least value.

``copy_settings``: The settings of a flow's append engine
``sections``: The checked configuration: clusters, flows and their settings
``setting_key``: How a field of the settings declares the keys of the file that set it
``state_policies``: What happens after a loss or a rejected record: the operator's decision, else
    the policy

May import: ``state``, ``records`` and what is below them. Built by ``replication.config``.
"""
