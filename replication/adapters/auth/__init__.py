"""How a client logs in: Java client properties for both libraries, key stores, OAuth tokens.

``client_config``: Translates Java client properties into settings of librdkafka and kafka-python
``key_stores``: Converts JKS, PKCS12 and PEM stores to PEM files, which both client libraries read
``oauth``: Tokens for SASL/OAUTHBEARER: fetched with client credentials, renewed before they
    expire

May import: the core.
"""
