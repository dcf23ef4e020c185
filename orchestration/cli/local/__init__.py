"""Verbs that start and stop things on this machine.

``demo``: ``isthmus demo``: what a newcomer sees first
``dev``: ``isthmus dev``: Kafka clusters on this machine, for trying things out
``live``: The screen of ``isthmus run``: a line a stage until records are copied, then the table
``run``: ``isthmus run``: a configuration file, Dagster in charge of it, and a live table
``smoke``: ``isthmus smoke``: the proof by violence

May import: ``orchestration.cli.flows``.
"""
