"""Verbs for a disaster.

``failover``: ``isthmus failover``: opens the target for clients after the loss of a source

May import: ``orchestration.cli.flows``.
"""
