"""What ``python -m bench`` measures of a tool in one round.

``far``: The rate of one partition, with a round trip of 100 ms between the tool and its brokers
``latency``: How late a record arrives at a low rate
``relay``: The floor: fetch, checksum, send, and nothing else
``rounds``: One tool's round: start it, warm it up, measure it, stop it; and the floor
``takeover``: How long copying stops after a unit is killed under load

May import: ``bench.tools``, ``bench.records``, ``bench.figures``.
"""
