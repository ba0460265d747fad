"""Code that several commands share.

- ``options``: makes a command's parser of its dataclass of options
- ``shared``: the options that several commands have
- ``arguments``: the types of option values, and checks of them
- ``progress``, ``tables``: terminal output
- ``study``: the base class of commands that run a sweep
"""
