"""Which keys there are, whose they are, and which value wins where several are set.

``client_keys``: The settings of Kafka's Java clients besides the connection names, and which
    Isthmus uses
``connection_keys``: Kafka's client connection names: inherited, without effect, refused or secret;
    masks secrets
``docs_table``: Generates the tables of keys on the pages of docs/ from the sections of the settings
``key_status``: Judges each key of a file: used, without effect and why, or unknown and the nearest
    known key
``mm2_keys``: Keys of MirrorMaker 2 and Connect without effect, and why; others:
    ``replication.settings``
``own_keys``: Isthmus' own settings, and other spellings that guides show
``precedence``: MirrorMaker 2's precedence of settings, as its dedicated mode applies it, quirks
    included
``scopes``: The scope of a key: all flows, one cluster, or one flow
``section_keys``: The keys that the sections of the settings declare, as tables by level
``ignored_promises``: Which ignored settings ask for something that Isthmus does not do: a warning,
    not a note
``value_checks``: Parses each value of a file once and reports those that are invalid by themselves

May import: ``file``, ``naming``, ``settings`` and ``errors``.
"""
