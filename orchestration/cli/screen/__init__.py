"""What all verbs print with: console, tables, stages, errors, and a quiet end of pipes.

``console``: The console that commands print to
``errors``: How a command prints an error that it expected
``pipes``: A quiet end of the command when nobody can read its output: ``| head``, a closed
    terminal
``stage``: One line a stage of a command: what it does now, how that ended, and after how many
    seconds
``text_table``: Tables whose values stay whole: one that is too long for its column gets a line of
    its own

May import: ``rich`` and ``replication.errors``.
"""
