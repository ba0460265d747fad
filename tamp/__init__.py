"""tamp."""
