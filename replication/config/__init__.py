"""From a properties file to checked settings; every problem with its file and line.

``announcement``: What an operator reads at a start: the file's warnings, and the patterns that are
    in effect
``build``: Builds the configuration of a whole file from its checked values
``changes``: Compare two readings of a file: which settings changed, and a fingerprint of all
``backfill_file``: Writes the file of a backfill: a batch flow beside a stream, bounded where the
    stream began
``derived_file``: Takes settings of a file over into another one, under other aliases
``drill_file``: Writes the file of a drill: the settings of a flow, for canary topics between the
    same clusters
``flow_graph``: Checks the flows together: one cluster under two aliases, and replication cycles
``kept_lines``: Keep the lines of a checked file without its secrets, for a start while the file is
    broken
``load``: Loads a properties file as a checked configuration and reports all of its problems at once
``normalise``: Converts the lines of a file to plain properties under MirrorMaker 2's names
``security``: Checks before any connection that a client's security settings fit together
``starter_file``: Writes a first properties file, with comments, from a few answers
``file``: The text of a configuration file: properties, dialects, placeholders, values, JAAS
``keys``: Which keys there are, whose they are, and which value wins where several are set
``sections``: The typed sections of a flow, read from its resolved keys

May import: ``transforms``, ``naming`` and what is below ``naming``. No cluster is asked.
"""
