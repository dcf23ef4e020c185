"""Records that tests write, read and compare, and who encoded them.

``connect_transforms``: Connect's own transforms, from Kafka's jars, applied to records
``copied_logs``: A partition, its copy, and what the copier stored: logs whose content is known
``decoded_records``: Records as a transform's task has them
``kafka_records``: Topics of a real cluster: created, written, read to their end
``record_batches``: Record batches encoded by kafka-python, independent of our encoder

May import: no other room of ``support``.
"""
