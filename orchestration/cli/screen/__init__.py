"""What all verbs print with: console, tables, stages, errors, and a quiet end of pipes.

``console``: Creates the console that commands print to
``errors``: How a command ends: with its reason as the last line where its exit code is not 0
``pipes``: Ends a command quietly when its output is closed: ``| head``, a closed terminal
``stage``: Prints one line per stage of a command: its progress, outcome and duration
``text_table``: Text tables that cut no value: one that is too long for its column gets its own
    line

May import: ``rich`` and ``replication.errors``.
"""
