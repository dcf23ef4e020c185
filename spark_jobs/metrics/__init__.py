"""Metrics of a driver: collected when Prometheus asks, served over HTTP.

``exposition``: Serves a driver's figures to Prometheus:
    ``http://<metrics.host>:<metrics.port>/metrics``
``metrics_collector``: Looks at a flow's two clusters for whoever asks for metrics, and only then

May import: ``replication`` only.
"""
