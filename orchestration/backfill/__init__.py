"""Backfills of flows: planned, and carried out as bounded batch flows beside the streams.

``backfill``: Plans a backfill of a flow, and carries it out: a bounded batch flow beside the stream
``backfill_report``: What a person reads of a backfill's plan
``file_backfill``: Appends history from files to the copies of a stream, by a bounded Spark job
``file_plan``: Which records of files are appended, and which are the stream's or already there
``file_positions``: Up to where records of files were appended to the copies of a flow
``history``: Which history a backfill copies: what stands before the first record of a stream

May import: ``orchestration.flows``, ``orchestration.services`` and ``replication``.
"""
