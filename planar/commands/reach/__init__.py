"""``galley reach``: base placement for a target. One file per subcommand."""

from __future__ import annotations

# Each subcommand in a sentence, in the order of the help.
COMMANDS = {
    "sample": "Write a dataset of base poses and joint angles that reach a target.",
    "plot": "Draw the distribution of bases and joint angles, and samples of it.",
    "train": "Learn the distribution of bases and joint angles, with limits or an obstacle too.",
    "eval": "Compare a learned distribution with the true one.",
    "field": "Draw on the floor plan where the robot can stand to grasp an item.",
}

EPILOG = """examples:
  galley reach sample --out data             a dataset for targets everywhere in the workspace
  galley reach plot --data data --out plots  look at it
  galley reach train --data data --out m     learn it
  galley reach eval m                        the learned beside the true
  galley reach field sugar_box               where the kitchen's robot may stand

docs/reachability.md has the whole sequence."""
