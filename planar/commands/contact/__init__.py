"""``galley contact``: bodies that touch in the plane. One file per subcommand."""

from __future__ import annotations

# Each subcommand in a sentence, in the order of the help.
COMMANDS = {
    "lift": "Lift a disc, a hexagon or a rectangle with a platform.",
    "run": "Simulate a scene of your own, YAML.",
}

EPILOG = """examples:
  galley contact lift --shape hexagon        press, lift off, fly up
  galley contact run slope.yaml              a slope is tilted until a block slides
  galley contact run pusher.yaml             a pusher against a body on a table, from above

The compiler takes half a minute or so before each run. Needs JAX: pip install
'galley-tamp[planar]'. docs/contact.md has the equations, the parameters and the limits."""
