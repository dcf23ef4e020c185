"""How a client logs in: Java client properties for both libraries, key stores, OAuth tokens.

``client_config``: Translates Java client properties into settings of librdkafka and kafka-python
``client_settings``: Settings of a client, read again when a file that they come from has changed
``key_stores``: Converts JKS, PKCS12 and PEM stores to PEM text, which both client libraries take
``logins``: Refused logins at one cluster: which may work later, and when the next one is tried
``oauth``: Tokens for SASL/OAUTHBEARER: fetched with client credentials, renewed before they
    expire
``tls_context``: The SSL context of a connection. Its certificates and its key come from memory

May import: the core.
"""
