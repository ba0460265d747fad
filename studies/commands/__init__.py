"""The commands of studies: ``galley compare``, ``galley scenarios`` and ``galley disturb``."""
