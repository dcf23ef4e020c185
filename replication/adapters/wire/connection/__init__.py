"""The connections to the brokers of one cluster, and the requests that go over them.

``broker_address``: Addresses of brokers as text
``channel``: One connection to a broker on the event loop: sends requests and matches responses in
    order
``connections``: The connections to one cluster: opened on first use, closed when a request times
    out
``dialer``: Opens connections in threads, each with the settings of that moment
``open_connection``: Open and authenticate a connection with kafka-python, then take its socket over
``requests``: Numbers and frames requests, and decodes their responses
``responses``: Splits the bytes of a connection into responses
``retries``: Which errors of coordinators and leaders pass, and the pauses between attempts of a
    request
``session``: When the SASL session of a connection ends, and when to open the next connection
    (KIP-368)

May import: ``api_messages``, ``fetch_produce_codec``, ``auth`` and what is below ``adapters``.
"""
