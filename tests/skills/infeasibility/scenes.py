"""Small scenes in which the block is walled in, under a crate, or reached by leaning only."""

from __future__ import annotations

from galley.tests.conftest import SMALL

# The block stands at x = 0.1, y = -0.2 on a top at 0.84. Walls reach 0.26 m above it.
WALLS = {
    "back": "[[0.02, 0.04], [-0.29, -0.11], [0.84, 1.20]]",
    "front": "[[0.16, 0.18], [-0.29, -0.11], [0.84, 1.20]]",
    "right": "[[0.04, 0.16], [-0.29, -0.27], [0.84, 1.20]]",
    "left": "[[0.04, 0.16], [-0.13, -0.11], [0.84, 1.20]]",
}


def walls(**bodies):
    """A body for each name, of the walls listed."""
    text = ""
    for name, sides in bodies.items():
        shapes = "".join(f"      - {{extents: {WALLS[side]}}}\n" for side in sides)
        text += f"  {name}:\n    shapes:\n{shapes}"
    return text


def crate(x=0.1, y=-0.2):
    """A movable crate: a lid on four walls over the block, too wide to be picked itself."""
    return f"""\
  crate:
    mass: 0.5
    size: [0.30, 0.30, 0.20]
    shapes:
      - {{box: [0.30, 0.30, 0.02], xyz: [0, 0, 0.09]}}
      - {{box: [0.02, 0.30, 0.18], xyz: [0.14, 0, -0.01]}}
      - {{box: [0.02, 0.30, 0.18], xyz: [-0.14, 0, -0.01]}}
      - {{box: [0.26, 0.02, 0.18], xyz: [0, 0.14, -0.01]}}
      - {{box: [0.26, 0.02, 0.18], xyz: [0, -0.14, -0.01]}}
    pose: {{on: top, xy: [{x}, {y}], yaw: 0}}
"""


def with_more(bodies="", items="", change=lambda text: text):
    """The small scene's text with more bodies and items."""
    text = SMALL.replace("  drawer:\n    parent", f"{bodies}  drawer:\n    parent", 1)
    return change(text.replace("stances:\n", f"{items}stances:\n", 1))


def cleft():
    """Two walls, ``b1`` and ``b2``, between which only a hand gets that leans by 10 to 30 degrees.

    The tall one, which hangs over a little, leaves no room for an upright hand, whose palm is
    31.6 mm thick to either side; the lower one, on the other side, none for a hand that leans by
    45 degrees. A hand that closes along x is 0.2 m wide and meets both.
    """
    x, y = 0.1, -0.2
    return (
        "  b1:\n    shapes:\n"
        f"      - {{extents: [[{x - 0.1}, {x - 0.037}], [{y - 0.2}, {y + 0.2}], [0.84, 1.2]]}}\n"
        f"      - {{extents: [[{x - 0.1}, {x - 0.026}], [{y - 0.2}, {y + 0.2}], [1.0, 1.2]]}}\n"
        "  b2:\n    shapes:\n"
        f"      - {{extents: [[{x + 0.055}, {x + 0.12}], [{y - 0.2}, {y + 0.2}], [0.84, 0.967]]}}\n"
    )


def square(text):
    """The small scene's text with the block square to the walls."""
    return text.replace("xy: [0.1, -0.2], yaw: 0.5", "xy: [0.1, -0.2], yaw: 0")
