"""Looks at a cluster once, for a diagnosis: each address step by step, and what it says of itself.

``address_probe``: Connects to one address step by step: DNS, port, TLS, login
``cluster_probe``: Asks a cluster for its disks, quotas, clock and record times, and for our rights
``probe_requests``: The requests of the cluster probe, and what their responses say

Nothing is written to a cluster.

May import: ``auth``, ``wire`` and what is below ``adapters``.
"""
