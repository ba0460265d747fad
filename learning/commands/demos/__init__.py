"""``galley demos``: demonstrations for learners. One file per subcommand."""

from __future__ import annotations

# Each subcommand in a sentence, in the order of the help.
COMMANDS = {
    "collect": "Run a kitchen task with many seeds, and keep each run as an episode.",
    "show": "Show one episode: a film, curves and its metadata.",
    "stats": "Print outcomes and lengths of episodes, and the range of each array.",
    "eval": "Measure how often a policy succeeds in the kitchen.",
    "export": "Write collected episodes in a format for learners: zarr or LeRobot.",
}

EPILOG = """Each seed is planned and executed by itself. Failed runs are kept as failures.

examples:
  galley demos collect --seeds 100 --execute kinematic --out sugar    100 runs without physics
  galley demos show seen --episode 3    look at one
  galley demos export seen --format lerobot --success --out train    those that succeeded

docs/demonstrations.md has the formats key by key. Needs pip install 'galley-tamp[learn]'."""
