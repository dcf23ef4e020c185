"""From a properties file to checked settings; every problem with its file and line.

``announcement``: What an operator reads at a start: the file's warnings, and the patterns that are
    in effect
``build``: Builds the configuration of a whole file from its checked values
``flow_graph``: Checks the flows together: one cluster under two aliases, and replication cycles
``load``: Loads a properties file as a checked configuration and reports all of its problems at
    once
``normalise``: Converts the lines of a file to plain properties under MirrorMaker 2's names
``security``: Checks before any connection that a client's security settings fit together
``file``: The text of a configuration file: properties, dialects, placeholders, values, JAAS.
``keys``: Which keys there are, whose they are, and which value wins where several are set.
``sections``: The typed sections of a flow, read from its resolved keys.

May import: ``naming``, ``client``, ``settings`` and what is below them; no cluster is asked.
"""
