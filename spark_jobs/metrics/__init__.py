"""Metrics of a driver: collected when Prometheus asks, served over HTTP.

``exposition``: Serves a driver's figures to Prometheus:
    ``http://<metrics.host>:<metrics.port>/metrics``
``metrics_collector``: Reads anchors and end offsets of a flow's two clusters on a scrape, to
    compute its lag
``metrics_server``: The HTTP server of the metrics endpoint: a thread a request, TLS and a login
    where they are set

May import: ``replication`` only.
"""
