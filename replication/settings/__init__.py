"""The checked settings of a file: each field declares its key, kind, default and least value.

``config``: The checked configuration of a whole file
``copy_settings``: The settings of a flow's append engine
``file_settings``: Settings of a file that belong to no flow: Spark, verification, alerts, Dagster
``flow_settings``: All settings of one flow
``login_origins``: Where a file sets how a client logs in: beside the client's properties, for its
    errors
``metrics_settings``: Where the drivers' figures are served or pushed to, and how finely
``mm2_settings``: What a flow writes as MirrorMaker 2 does, and how groups' offsets follow
``naming_settings``: Which topics and groups a flow selects, and how their names on the target are
    built
``otlp_settings``: Where drivers push their figures over OTLP, the protocol of OpenTelemetry
``section``: A part of the checked settings: immutable, and no field besides the declared ones
``setting_key``: How a field of the settings declares the keys of the file that set it
``state_policies``: Decide by ``on.*`` keys or an operator's decision whether a partition stops or
    continues
``topic_settings``: How topics are created on the target, and how their configs and ACLs follow the
    source's
``transform_settings``: The settings of transforms: what happens to the records of some topics on
    their way

May import: ``model``. Built by ``replication.config``.
"""
