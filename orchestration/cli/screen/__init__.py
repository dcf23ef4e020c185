"""What all verbs print with: console, tables, stages, errors, and a quiet end of pipes.

``completion``: ``isthmus completion``: prints what a shell needs to complete commands, options and
    files
``console``: Creates the console that commands print to
``errors``: How a command ends: with its reason as the last line where its exit code is not 0
``examples``: Examples below the help of each command, by the words that call it
``given_file``: The properties file that a command was called with, put into the commands that it
    prints
``interrupts``: What ends a command from outside: SIGTERM and SIGHUP end it as Ctrl-C does, with its
    clean-up
``output``: The output formats of commands: text for people, JSON and YAML for programs
``pipes``: Ends a command quietly when its output is closed: ``| head``, a closed terminal
``progress_bar``: A progress bar for work that takes longer than two seconds; none in a pipe
``stage``: Prints one line per stage of a command: its progress, outcome and duration
``text_table``: Text tables that cut no value: one that is too long for its column gets its own line

May import: ``replication.errors``. It prints with ``rich``.
"""
