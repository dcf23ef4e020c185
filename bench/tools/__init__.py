"""Isthmus, MirrorMaker 2 and the two brokers: configured, started, and what they use.

``brokers``: The two clusters, and their admin calls
``running``: A tool that runs: started, awaited, timed, stopped
``tls``: A broker with a second listener for clients over TLS
``tool_config``: How each tool is configured and started
``usage``: CPU time and memory of a tool, all of its processes

May import: ``bench.records``, ``bench.figures``.
"""
