"""Tasks of growing size, as files in the documented formats: the kitchen, and a table in the room.

Items are those of the YCB object set that the hand can grasp, and stand on the burners and the two
counters. The goal is always to bring things to the table, where the robot turns its back on the
kitchen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from galley.domain.shipped import KITCHEN

Entry = dict[str, Any]

# Name, shape (box sides, or cylinder's radius and length; m), mass (kg).
ITEMS: tuple[tuple[str, str, tuple[float, ...], float], ...] = (
    ("sugar", "box", (0.089, 0.038, 0.175), 0.514),  # YCB 004
    ("spam", "box", (0.097, 0.050, 0.082), 0.370),  # 010
    ("soup", "cylinder", (0.033, 0.101), 0.349),  # 005
    ("brick", "box", (0.050, 0.075, 0.050), 0.028),  # 061
    ("mustard", "box", (0.095, 0.058, 0.190), 0.603),  # 006
    ("gelatin", "box", (0.089, 0.028, 0.073), 0.097),  # 009, on its edge
    ("cube", "box", (0.057, 0.057, 0.057), 0.094),  # 077
    ("crackers", "box", (0.158, 0.060, 0.210), 0.411),  # 003
    ("pudding", "box", (0.110, 0.035, 0.089), 0.187),  # 008, on its edge
    ("cup", "cylinder", (0.0275, 0.057), 0.013),  # 065
)
# Where they stand: the PDDL object, the scene's region, x and y in the world.
SPOTS: tuple[tuple[str, str, float, float], ...] = (
    ("burner", "burners", 0.065, 0.625),
    ("left_counter", "indigo_top", 0.12, 1.10),
    ("countertop", "hitman_top", 0.12, -0.45),
    ("burner", "burners", 0.065, 0.205),
    ("left_counter", "indigo_top", 0.12, 1.30),
    ("countertop", "hitman_top", 0.12, -0.70),
    ("left_counter", "indigo_top", 0.12, 1.50),
    ("countertop", "hitman_top", 0.12, -0.20),
    ("left_counter", "indigo_top", 0.12, 0.92),
    ("countertop", "hitman_top", 0.12, -0.95),
)
SURFACES = {"burner": "stove", "countertop": "surface", "left_counter": "surface"}
_WANTED = (-0.50, -0.25, -0.75)  # y of the boxes that others hem in
_TEA = (0.060, 0.055, 0.095)  # a box of tea
_LOAF = (0.30, 0.065, 0.045)  # a loaf of bread, for whose place all that stands there must go


@dataclass(frozen=True)
class Task:
    """A task's files.

    Attributes:
        name: a word. size: what grows.
        scene, domain, problem: files.
    """

    name: str
    size: int
    scene: Path
    problem: Path
    domain: Path = KITCHEN / "drawers.pddl"


def items(folder: Path, count: int) -> Task:
    """So many items from three places onto the table."""
    own, things, init = {}, [], []
    for item, (place, region, x, y) in zip(ITEMS[:count], SPOTS, strict=False):
        own |= _item(*item, region, x, y)
        things.append(item[0])
        init.append((item[0], place))
    goal = [(name, "table") for name in things]
    return _write(folder, f"items_{count}", count, own, init, goal)


def hemmed_in(folder: Path, count: int) -> Task:
    """Three boxes onto the table, each of which the hand can take across its thin side only.

    The others stand 12 mm beside them, first on both sides of one of them, then of the next: all
    must be moved.
    """
    own: dict[str, Entry] = {}
    for k, y in enumerate(_WANTED):
        own |= _item(f"gelatin{k}", "box", (0.089, 0.028, 0.073), 0.097, "hitman_top", 0.13, y)
    for k in range(count):
        y = _WANTED[k // 2] + (-0.0535 if k % 2 else 0.0535)
        own |= _item(f"tea{k}", "box", _TEA, 0.12, "hitman_top", 0.13, y)
    goal = [(f"gelatin{k}", "table") for k in range(len(_WANTED))]
    init = [(name, "countertop") for name in own]
    return _write(folder, f"hemmed_in_{count}", count, own, init, goal)


def occupied(folder: Path, count: int) -> Task:
    """A loaf to an exact place on the table, on which other items stand, all of which must go."""
    centre = (1.40, -2.20)
    own = _item("loaf", "box", _LOAF, 0.40, "hitman_top", 0.08, -0.50)
    init = [("loaf", "countertop")]
    for k in range(count):
        x, y = centre[0] - 0.125 + 0.05 * k, centre[1] + (0.045 if k % 2 else -0.045)
        own |= _item(f"cube{k}", "box", (0.04, 0.04, 0.04), 0.06, "table_top", x, y)
        init.append((f"cube{k}", "table"))
    place = {"stance": "table", "region": "table_top", "at": {"xy": list(centre), "yaw": 0.0}}
    return _write(
        folder, f"occupied_{count}", count, own, init, [("loaf", "mark")], places={"mark": place}
    )


def crowded(folder: Path, count: int, named: bool) -> Task:
    """Three items onto the table, in a room with so many crates, every second with an item on it.

    Args:
        named: the crates and their items are also objects of the problem.
    """
    own: dict[str, Entry] = {}
    init = []
    for item, (place, region, x, y) in zip(ITEMS[:3], SPOTS, strict=False):
        own |= _item(*item, region, x, y)
        init.append((item[0], place))
    goal = [(name, "table") for name, _ in init]
    bodies: dict[str, Entry] = {}
    regions: dict[str, Entry] = {}
    places: dict[str, Entry] = {}
    stances: dict[str, Entry] = {}
    for k, (x, y) in enumerate(_crates()[:count]):
        name = f"crate{k}"
        sides = [[x - 0.14, x + 0.14], [y - 0.14, y + 0.14], [0.0, 0.6]]
        bodies[name] = {"shapes": [{"extents": sides}]}
        top = {"x": [x - 0.13, x + 0.13], "y": [y - 0.13, y + 0.13], "z": 0.6}
        regions[name] = {"body": name, "surface": [top]}
        if y < 2.0:  # on the far side of the room, else beside the left counter
            stances[name] = {"x": [1.8, 2.4], "y": [max(-1.6, y - 0.5), min(1.69, y + 0.5)]}
        else:
            stances[name] = {
                "x": [min(1.9, max(0.55, x - 0.5)), min(2.4, x + 0.5)],
                "y": [1.2, 1.69],
            }
        places[name] = {"stance": name, "region": name}
        if k % 2 == 0:
            _, kind, sizes, mass = ITEMS[(k // 2) % len(ITEMS)]
            own |= _item(f"extra{k}", kind, sizes, mass, name, x, y)
            if named:
                init.append((f"extra{k}", name))
    return _write(
        folder,
        f"crowded_{count}_{'named' if named else 'silent'}",
        count,
        own,
        init,
        goal,
        bodies=bodies,
        regions=regions,
        stances=stances,
        places=places,
        named=tuple(places) if named else (),
    )


def _crates() -> list[tuple[float, float]]:
    """Where crates stand (x, y), out of the base's way: first near rows, then further ones."""
    east = [(x, -1.5 + 0.32 * k) for x in (3.10, 3.50) for k in range(12)]
    north = [(0.40 + 0.34 * k, y) for y in (2.50, 2.90) for k in range(8)]
    near, far = east[:12] + north[:8], east[12:] + north[8:]
    # Spread: neighbours in the list are not neighbours in the room.
    return near[::2] + near[1::2] + far[::2] + far[1::2]


def _item(
    name: str, kind: str, sizes: Sequence[float], mass: float, region: str, x: float, y: float
) -> dict[str, Entry]:
    shape = {kind: list(sizes)}
    pose = {"on": region, "xy": [round(x, 4), round(y, 4)], "yaw": 0.0}
    return {name: {"mass": mass, "shapes": [shape], "pose": pose}}


def _write(
    folder: Path,
    name: str,
    size: int,
    own: Mapping[str, Entry],
    init: Iterable[tuple[str, str]],
    goal: Iterable[tuple[str, str]],
    bodies: Mapping[str, Entry] | None = None,
    regions: Mapping[str, Entry] | None = None,
    stances: Mapping[str, Entry] | None = None,
    places: Mapping[str, Entry] | None = None,
    named: Sequence[str] | None = None,
) -> Task:
    """Scene and problem; ``named`` are those of ``places`` in the problem (None: all)."""
    init, places = list(init), dict(places or {})
    legs = [(x, y) for x in (0.93, 1.87) for y in (-2.42, -2.08)]
    table = [{"extents": [[0.90, 1.90], [-2.45, -2.05], [0.71, 0.75]], "color": [0.6, 0.45, 0.3]}]
    table += [
        {"extents": [[x - 0.025, x + 0.025], [y - 0.025, y + 0.025], [0.0, 0.71]]} for x, y in legs
    ]
    top = {"x": [0.92, 1.88], "y": [-2.40, -2.07], "z": 0.75}
    objects: dict[str, Any] = {"sugar": None, "spam": None, "drawer": None}
    objects |= {each: {"item": each} for each in own}
    objects |= {
        "table": {"stance": "table", "region": "table_top"},
        "left_counter": {"stance": "left_counter", "region": "indigo_top"},
        **places,
    }
    scene = {
        "galley_scene": 1,
        "extends": str(KITCHEN / "kitchen.yaml"),
        "name": name,
        "bodies": {"table": {"shapes": table}, **(bodies or {})},
        "regions": {"table_top": {"body": "table", "surface": [top]}, **(regions or {})},
        "items": {"sugar_box": None, "potted_meat_can": None, **own},
        "stances": {
            "left_counter": {"x": [0.55, 1.35], "y": [0.50, 1.69]},
            "table": {"x": [0.55, 2.25], "y": [-1.608, -1.0]},
            **(stances or {}),
        },
        "objects": objects,
    }
    # JSON is YAML.
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(scene, indent=1) + "\n")
    surfaces = [n for n, kind in SURFACES.items() if kind == "surface"] + ["table"]
    surfaces += list(places) if named is None else list(named)
    problem = folder / f"{name}.pddl"
    facts = "\n    ".join(f"(on {item} {place})" for item, place in init)
    wanted = "\n    ".join(f"(on {item} {place})" for item, place in goal)
    problem.write_text(
        f"(define (problem {name})\n  (:domain drawers)\n  (:objects\n    center - furniture\n"
        f"    burner - stove\n    {' '.join(surfaces)} - surface\n"
        f"    {' '.join(item for item, _ in init)} - objective\n    h1 - hand)\n"
        f"  (:init\n    (near center)\n    {facts}\n    (empty h1))\n"
        f"  (:goal (and\n    {wanted})))\n"
    )
    return Task(name, size, path, problem)
