"""The command ``isthmus``: one module per verb, imported when the verb is called.

``main``: The command ``isthmus``: its list of subcommands, and how their errors are reported
``configuration``: Verbs that explain a file and what it would change
``flows``: Verbs about running flows
``local``: Verbs that start and stop things on this machine
``positions``: Verbs about offsets, groups and the takeover from MirrorMaker 2
``recovery``: Verbs that move clients to another cluster, after a disaster or as planned
``screen``: What all verbs print with: console, tables, stages, errors, and a quiet end of pipes

May import: what is below ``orchestration.cli`` and ``replication``. Not ``orchestration.dagster``.
"""
