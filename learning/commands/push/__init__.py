"""``galley push``: a pusher brings a body to a goal on a table. One file per subcommand."""

from __future__ import annotations

# Each subcommand in a sentence, in the order of the help.
COMMANDS = {
    "play": "Push with the mouse, in a window.",
    "demo": "Watch a demonstrator or a policy push, in a window.",
    "film": "Film a demonstrator, a policy or collected episodes, as mp4 or GIF.",
    "collect": "Collect episodes as demonstrations that learners read.",
    "verify": "Verify collected episodes: replay their actions, and compare the states.",
    "train": "Learn a policy from demonstrations.",
    "eval": "Measure how often a policy succeeds.",
}

EPILOG = """An episode succeeds when the body covers 95 % of the goal within 300 steps of 0.1 s.

examples:
  galley push play --shape L                 the pusher follows the mouse
  galley push film --demonstrator planned --seeds 3 --gif --out runs/t
  galley push collect --demonstrator planned --seeds 500 --out pushes
  galley push train pushes --out policy.safetensors
  galley push eval policy.safetensors --seeds 50

play and demo need pygame: pip install 'galley-tamp[planar]'; collecting and policies need
pyarrow, zarr and JAX: pip install 'galley-tamp[learn]'. docs/pushing.md has the parameters and
the limits."""
