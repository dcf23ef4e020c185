"""Metrics of a driver: collected when Prometheus asks, served over HTTP, or pushed over OTLP.

``exposition``: Serves a driver's figures to Prometheus:
    ``http://<metrics.host>:<metrics.port>/metrics``
``metrics_collector``: Reads anchors and end offsets of a flow's two clusters on a scrape, to
    compute its lag
``metrics_server``: The HTTP server of the metrics endpoint: one thread per request; TLS and a login
    where set
``otlp_push``: Pushes a driver's figures over OTLP/HTTP in a thread of its own
``otlp_request``: The figures of a driver as a request of OTLP, OpenTelemetry's protocol

May import: ``replication``.
"""
