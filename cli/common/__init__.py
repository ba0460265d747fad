"""What several commands share.

- ``options``: a command's options, as a dataclass; ``shared``: those that several commands have
- ``arguments``: their types
- ``progress``, ``tables``: the terminal
- ``study``: the base of commands that run a sweep
"""
