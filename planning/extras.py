"""What is said where an optional part is asked for and missing, or fails."""


class MissingExtra(RuntimeError):
    """An optional part of Galley is not installed; the message says how to install it."""


class FastDownwardError(RuntimeError):
    """Fast Downward could not read a task, broke off, or gave a plan that does not hold."""
