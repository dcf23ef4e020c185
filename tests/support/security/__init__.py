"""Whom a test trusts, and what nobody may see or reach.

``attack_surface``: Files and ports of running processes that other users or machines could reach
``certificate_stores``: Certificates, and key stores of every format
``planted_secrets``: Planted secrets, looked for in text, files, arguments and topics

May import: no other room of ``support``.
"""
