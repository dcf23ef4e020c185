"""How a client logs in: Java client properties for both libraries, key stores, OAuth tokens.

``client_config``: Java client properties as settings of librdkafka and of kafka-python
``key_stores``: JKS, PKCS12 and PEM stores as PEM files, which both client libraries read
``oauth``: Tokens for SASL/OAUTHBEARER: fetched with client credentials, renewed before they end

May import: the core.
"""
