"""Kafka's protocol for the append engine: our own framing for Fetch and Produce, nothing copied.

``dial`` opens and authenticates a connection with kafka-python and takes its socket over;
``channel`` sends and receives frames on it; ``framing`` is the bytes of Fetch and Produce;
``network`` is one cluster: leaders, coordinators and the calls the copier makes.
"""

from replication.adapters.wire.network import connect

__all__ = ["connect"]
