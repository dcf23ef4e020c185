"""The text of a configuration file: properties, dialects, placeholders, values, JAAS.

``dialect``: The looser dialect that guides show, turned into MirrorMaker 2's, with a warning each
``findings``: What was noticed in a file: an error to fix, a warning to heed, a fact to know
``jaas``: Read a ``sasl.jaas.config`` line: the login module and its options
``properties``: Java's ``.properties`` format, with the line of each key
``providers``: Placeholders such as ``${file:/run/secrets.properties:password}``
``values``: Read a value by its kind

May import: ``replication.settings`` and the ground.
"""
