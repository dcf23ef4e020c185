"""Which keys there are, whose they are, and which value wins where several are set.

``client_keys``: Names of the settings of Kafka's Java clients, and which of them matter to us
``docs_table``: The tables of keys in docs/configuration.md, made from the sections of the
    settings
``judge``: Judge every key of a file: honoured, without effect and why, or unknown and what was
    meant
``mm2_keys``: Every setting of MirrorMaker 2 and of Connect below it, and what becomes of it here
``own_keys``: Settings that are Isthmus' own, and the looser spellings that guides show
``precedence``: MirrorMaker 2's order of resolution, as its dedicated mode applies it, quirks
    included
``scopes``: Whom a key speaks of: all flows, one cluster, or one flow
``section_keys``: The keys that the sections of the settings declare, as tables by who declares
    them
``verify``: Parse each value of a file once, and note those that are wrong by themselves

May import: ``replication.config.file`` and what is below it.
"""
