"""``galley contact``: bodies that touch in the plane. One file per subcommand."""

from __future__ import annotations

# Each subcommand in a sentence, in the order of the help.
COMMANDS = {
    "lift": "lift a disc, a hexagon or a rectangle with a platform",
    "incline": "tilt a slope until a block slides, and compare the angle with the closed form",
    "push": "push a body over a table, seen from above",
    "throw": "find the forces that throw a ball into a basket, by gradient through the contact",
    "run": "simulate a scene of your own, YAML",
}

EPILOG = """Bodies press on one another by a penalty at virtual contacts, rub with Coulomb friction,
and move in implicit steps. All of it can be differentiated: plots have the gradient by the inputs.

examples:
  galley contact lift --shape hexagon        press, lift off, fly up
  galley contact lift --contacts stein       the same, the contacts spread by Stein's method
  galley contact incline --friction 0.3      slips at arctan 0.3
  galley contact throw --distance 2.5        each try nearer to the basket
  galley contact run contact_scene.yaml

Each writes a folder: contact.mp4 (or .gif), contact.png with inputs, states, velocities,
accelerations and the gradient, the states (CSV or npz) and summary.json. The compiler takes half
a minute or so before each run. Needs JAX: pip install 'galley-tamp[planar]'.
docs/contact.md has the equations, the parameters and the limits."""
