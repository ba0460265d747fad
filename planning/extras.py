"""What is said where an optional part is asked for and missing."""


class MissingExtra(RuntimeError):
    """An optional part of Galley is not installed; the message says how to install it."""
