"""Brokers that really run, for tests of logins and rights, and MirrorMaker 2.

``replication.adapters.local`` starts brokers in plain text; these have listeners of other kinds.

``kdc``: A Kerberos realm of its own, and a cluster whose clients log in there
``logins_cluster``: A broker with a listener for each way to log in and each certificate that is
    refused
``mirrormaker``: The real MirrorMaker 2, in its dedicated mode
``sasl_ssl_broker``: A broker whose clients log in with SCRAM over TLS; it counts the logins
``secured_broker``: A broker with an authorizer, and ACLs for its users

May import: ``support.security``.
"""
