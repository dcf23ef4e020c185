"""A flow's figures as metrics: what was seen in, samples out. Pure.

``figures`` is what a driver saw, ``catalogue`` all metrics with their meaning, ``samples`` turns
the one into the other. Serving them is the driver's: ``spark_jobs.metrics.exposition``.
"""
