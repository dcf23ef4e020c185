"""Benchmark of Isthmus and MirrorMaker 2: the same records, the same brokers, the same run.

__main__   the command ``python -m bench``
rounds     one tool's round: start it, warm it up, measure it, stop it; and the floor
running    a tool that runs
filtered   a filter in Spark SQL beside MirrorMaker 2's Filter: a command of its own
verified   a copy is verified, without and with damage: a command of its own
backfilled live records while history is backfilled: a command of its own
damage     the log of a stopped broker, with other records in it
takeover   a unit is killed under load
far        a round trip of 100 ms between the tool and its brokers
tools      how each tool is configured and started
tls        a broker with a second listener for clients over TLS
gate       records that are all there but unreadable until the clock starts
loader     the process that writes them
live       live records: how late each of them came, by processes of their own
threads    threads that work until a measurement, or a part of a test, is over
usage      CPU time and memory of a tool, all of its processes
latency    how late a record arrives at a low rate
relay      the floor: fetch, checksum, send, and nothing else
content    is the copy equal, record by record, in order
figures    medians, ratios, the table and the JSON line; pure
"""
