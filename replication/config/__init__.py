"""From a properties file to checked settings; every problem with its file and line.

``build``: Put the checked sections of a file together
``flow_graph``: Check the flows together: one cluster under two names, records that would circle
``load``: From a properties file to a checked configuration
``normalise``: From the lines of a file to plain properties under MirrorMaker 2's names
``security``: Check that a client's security settings fit together, before anything is connected
``file``: The text of a configuration file: properties, dialects, placeholders, values, JAAS.
``keys``: Which keys there are, whose they are, and which value wins where several are set.
``sections``: The typed sections of a flow, read from its resolved keys.

May import: ``naming``, ``client``, ``settings`` and what is below them; no cluster is asked.
"""
