"""``galley push stats``: what a folder of demonstrations holds, as ``galley demos stats``."""

from galley.learning.commands.demos.stats import command

EPILOG = """examples:
  galley push stats pushes
  galley push stats pusht_cchi_v7_replay.zarr"""

__all__ = ["EPILOG", "command"]
