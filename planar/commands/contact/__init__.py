"""``galley contact``: bodies that touch in the plane. One file per subcommand."""

from __future__ import annotations

# Each subcommand in a sentence, in the order of the help.
COMMANDS = {
    "lift": "lift a disc, a hexagon or a rectangle with a platform",
    "incline": "tilt a slope until a block slides, and compare the angle with the closed form",
    "push": "push a body over a table, seen from above",
    "run": "simulate a scene of your own, YAML",
}

EPILOG = """examples:
  galley contact lift --shape hexagon        press, lift off, fly up
  galley contact incline --friction 0.3      slips at arctan 0.3
  galley contact run contact_scene.yaml

The compiler takes half a minute or so before each run. Needs JAX: pip install
'galley-tamp[planar]'. docs/contact.md has the equations, the parameters and the limits."""
