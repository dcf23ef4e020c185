"""Configs, properties files, and the settings that Kafka knows.

``config_files``: Properties files: written, loaded, and what was found in them
``configs``: Configs and flows as values, with defaults
``kafka_settings``: Each setting that Kafka's own classes declare, from a list that is checked in

May import: no other room of ``support``.
"""
