"""What several commands share.

- ``arguments``: argument types, and options that several commands share
- ``progress``, ``tables``: the terminal
- ``browser``: opens a page; ``study``: the base of commands that run a sweep
"""
