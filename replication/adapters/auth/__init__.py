"""How a client logs in: Java client properties for both libraries, key stores, OAuth tokens.

``account``: Whom a client logs in as, and where that is configured: for errors that are about a
    login
``client_config``: Translates Java client properties into settings of librdkafka and kafka-python
``client_settings``: Settings of a client, read again when a file that they come from has changed
``kerberos``: Logs in with Kerberos (SASL/GSSAPI): each principal with tickets of its own
``key_stores``: Converts JKS, PKCS12 and PEM stores to PEM text, which both client libraries take
``logins``: After a refused login at a cluster: whether another one may work, and when it is tried
``msk_iam``: Tokens for Amazon MSK: a request that IAM credentials sign, which its brokers take as a
    token
``oauth``: Tokens for SASL/OAUTHBEARER: fetched with client credentials, renewed before they expire
``reached_clusters``: The cluster id that each address led to last, as any client of the process was
    answered
``sasl_settings``: Translates Java's ``sasl.*`` properties into settings of librdkafka and
    kafka-python
``tls_context``: The SSL context of a connection: trusted authorities, host name, own certificate

May import: what is below ``adapters``.
"""
