"""The command ``isthmus``: one module per verb, imported when the verb is called.

``main``: The command ``isthmus``: its list of subcommands, and the exit code of each error
``configuration``: Verbs that explain a file and what it would change
``flows``: The commands about running flows: show, pause, resume, restart, resolve, compare, verify
``local``: The commands that start or show what runs on this machine: run, batch, backfill, demo,
    logs
``positions``: Verbs about offsets, groups and the takeover from MirrorMaker 2
``recovery``: The commands about failover, failback, switchover and drill: their options and output
``screen``: What all verbs print with: console, tables, stages, errors, and a quiet end of pipes

May import: what is below ``orchestration.cli`` and ``replication``. Not ``orchestration.dagster``.
"""
