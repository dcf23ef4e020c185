"""The text of a configuration file: properties, dialects, placeholders, values, JAAS.

``dialect``: Accepts the looser spellings that guides show, with a warning for each
``findings``: Findings about a file: an error to fix, a warning, or a note, each with its line
``jaas``: Parses a ``sasl.jaas.config`` line: the login module and its options
``properties``: Parses Java's ``.properties`` format, with the line of each key
``providers``: Resolves placeholders such as ``${file:/run/secrets.properties:password}``
``values``: Parses a value by its kind

May import: ``replication.settings`` and the ground.
"""
