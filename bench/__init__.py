"""Benchmark of Isthmus and MirrorMaker 2: the same records, the same brokers, the same run.

Commands: ``python -m bench`` for all measures, and one for each of five questions.

``__main__``: The command ``python -m bench``: runs the rounds and prints the table
``backfilled``: Live records while history is backfilled: a command of its own
``filtered``: A filter in Spark SQL beside MirrorMaker 2's Filter: a command of its own
``new_topic``: How soon a new source topic is on the target: a command of its own
``staleness``: The age of group offsets on the target: a command of its own
``verified``: A copy is verified, without and with damage: a command of its own
``figures``: Medians, ratios, the table and the JSON line; pure
``threads``: Threads that work until a measurement, or a part of a test, is over

Rooms, each of which may import those below it:

``measures``: What ``python -m bench`` measures of a tool in one round
``tools``: The tools and the two brokers: configured, started, and what they use
``records``: The records: written behind a gate, watched live, compared, damaged

May import: ``replication`` and its adapters; another process runs ``spark_jobs`` and the command.
"""
