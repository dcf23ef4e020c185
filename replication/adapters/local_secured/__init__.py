"""Clusters on this machine whose clients log in: certificates, key stores, users, least rights.

``authority``: A certificate authority of our own, and the certificates that it issues
``listeners``: The server properties of a broker whose clients log in, one way for each cluster
``login``: The Java properties with which a user logs in at a secured cluster
``secret_file``: The secrets of a secured cluster, in a file that placeholders of a configuration
    lead to
``secured_cluster``: A cluster on this machine whose clients log in, and its files
``store_files``: Trust stores and key stores as JKS, PKCS12 and PEM files
``token_server``: A token end-point for OAuth's client credentials, for clusters on this machine
``tokens``: Signed tokens of users (JWT, RS256), and the key that brokers check them with (JWKS)
``users``: Users and their ACLs on a cluster, set over the connection of its administrator

May import: ``admin``, ``auth``, ``local`` and what is below ``adapters``.
"""
