"""What several commands share.

- ``options``: a command's parser; ``shared``: the options that several commands have
- ``arguments``: their types
- ``progress``, ``tables``: the terminal
- ``study``: the base of commands that run a sweep
"""
