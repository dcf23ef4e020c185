"""The checked settings of a file: each field declares its key, kind, default and least value.

``copy_settings``: The settings of a flow's append engine
``login_origins``: Where a file sets how a client logs in: beside the client's properties, for its
    errors
``otlp_settings``: Where drivers push their figures over OTLP, the protocol of OpenTelemetry
``sections``: The checked configuration: clusters, flows and their settings
``setting_key``: How a field of the settings declares the keys of the file that set it
``state_policies``: Decide by ``on.*`` keys or an operator's decision whether a partition stops or
    continues
``transform_settings``: The settings of transforms: what happens to the records of some topics

May import: ``state``, ``records`` and what is below them. Built by ``replication.config``.
"""
