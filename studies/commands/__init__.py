"""The commands of the studies: ``galley compare``, ``galley scenarios`` and ``galley disturb``."""
