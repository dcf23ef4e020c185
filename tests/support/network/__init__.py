"""Servers, proxies and broken brokers: what answers besides the brokers that really run.

``broken_servers``: Servers that are no brokers: they close, send garbage, or keep quiet
``broker_proxy``: Every broker behind a proxy, for a unit in this process
``fake_broker``: A broker of one node on a real socket, which answers honestly or with lies
``http_server``: HTTP servers that serve while a block runs, and leave no thread
``kubernetes_api``: As much of Kubernetes' API as Spark's executors need; a pod is a process
``otlp_endpoint``: An endpoint of OTLP/HTTP, which keeps what is pushed to it
``prometheus``: A scrape of a metrics endpoint, as Prometheus does it
``s3_files``: A folder that is read by S3's protocol
``schema_registry``: A schema registry, which answers as Confluent's does
``webhook``: A server that takes alerts

May import: ``support.fakes``.
"""
