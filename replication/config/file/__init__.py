"""The text of a configuration file: properties, dialects, placeholders, values, JAAS.

``cron``: Checks a cron line of five fields: minute, hour, day of month, month, day of week
``dialect``: Accepts the looser spellings that guides show, with a warning for each
``edit``: Set one key in the text of a properties file; all other lines stay as they are
``findings``: Findings about a file: an error to fix, a warning, or a note, each with its line
``input_file``: Reads a file that somebody else wrote: of bounded size, and without waiting for ever
``jaas``: Parses a ``sasl.jaas.config`` line: the login module and its options
``properties``: Parses Java's ``.properties`` format, with the line of each key
``providers``: Resolves placeholders such as ``${file:/run/secrets.properties:password}``
``sasl``: SASL mechanisms that clients may log in with, and the packages that some of them need
``tls_limits``: Which TLS protocols and cipher suites a client may use, from Java's settings
``tls_names``: Java's names of TLS protocols and cipher suites, and what OpenSSL calls the suites
``values``: Parses a value by its kind

May import: ``naming``, ``durations`` and ``errors``.
"""
