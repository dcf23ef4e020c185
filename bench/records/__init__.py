"""Records of a benchmark: written behind a gate, watched live, compared, damaged.

``content``: Is the copy equal, record by record, in order
``damage``: The log of a stopped broker, with other records in it
``gate``: Records that are all there but unreadable until the clock starts
``live``: Live records: how late each of them came, by processes of their own
``loader``: The process that writes the records of a gate

May import: no other room of ``bench``.
"""
