"""optimization."""
