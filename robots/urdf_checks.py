"""What is wrong in a URDF, before anything uses it: every fault in a line, with link or joint.

``read_urdf`` reads a file and checks what must be so in any URDF, ``check_moved`` what the joints
in q need, ``check_shapes`` what planning needs of the links.
"""

from __future__ import annotations

import importlib.util
import logging
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np

from galley.domain.files import read_bytes
from galley.domain.frames import Array
from galley.domain.scene.model import LARGEST_SIDE, SMALLEST_SIDE
from galley.robots.urdf_reader import (
    MOVABLE,
    JointTree,
    LinkShape,
    joined_link,
    limit_of,
    numbers,
    onto_axis,
    shape_of,
    ways,
)

TYPES = (*MOVABLE, "fixed", "floating", "planar")
LARGEST_LIMIT = 1e3
"""rad, m or their rates: beyond, a limit is none."""
LARGEST_MESH = 10.0
"""m, of a link's mesh. A longer one is in millimetres, by all experience."""

_log = logging.getLogger(__name__)

# How many numbers the attributes of elements have that are read somewhere, beside ``shape_of``.
_NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3},
    "limit": dict.fromkeys(("lower", "upper", "velocity", "effort"), 1),
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
}


def read_urdf(path: Path | str) -> ET.Element:
    """The root of a URDF whose links and joints form a tree, and whose numbers are numbers.

    Raises:
        FileNotFoundError: no such file.
        BadInput: it can't be read.
        ValueError: it is no URDF; or a line for each of its faults.
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"{path}: no such file")
    data = read_bytes(path)
    try:
        root = ET.fromstring(data)
    except (ET.ParseError, LookupError, ValueError) as error:  # the others: an unknown encoding
        raise ValueError(f"{path}: not XML: {error}") from error
    if root.tag != "robot":
        raise ValueError(f"{path}: a URDF's root is <robot>, not <{root.tag}>")
    if any("xacro}" in str(element.tag) for element in root.iter()):
        root = _expanded(path)
    refuse(path, [*_structure(root), *_values(root)])
    return root


def _expanded(path: Path | str) -> ET.Element:
    """What a file in xacro stands for, by the package of that name, with all its defaults."""
    if importlib.util.find_spec("xacro") is None:
        raise ValueError(f"{path}: is written in xacro, for which install it: pip install xacro")
    import xacro

    try:
        return ET.fromstring(xacro.process_file(str(path)).toxml())
    except Exception as error:  # it has many kinds, of its own and of Python's
        raise ValueError(f"{path}: xacro: {str(error).splitlines()[0]}") from error


def refuse(path: Path | str, faults: Iterable[str]) -> None:
    """Raises ValueError with a line for each fault of a file, if there are any."""
    if lines := list(dict.fromkeys(f"{path}: {fault}" for fault in faults)):
        raise ValueError("\n".join(lines))


def _structure(root: ET.Element) -> Iterator[str]:
    """Faults of names, and of the tree of links."""
    links, joints = ([e.get("name", "") for e in root.findall(k)] for k in ("link", "joint"))
    for kind, names in (("link", links), ("joint", joints)):
        for name, count in Counter(names).items():
            if count > 1 or not name:
                again = f"{kind} '{name}' is declared {count} times"
                yield again if name else f"a nameless <{kind}>"
    carriers: dict[str, list[str]] = {}
    parent, leader = dict[str, str](), dict[str, str]()
    for joint in root.findall("joint"):
        name = joint.get("name", "")
        if joint.get("type") not in TYPES:
            yield f"joint '{name}' has the type '{joint.get('type')}', expected {', '.join(TYPES)}"
        ends = [[e.get("link", "") for e in joint.findall(role)] for role in ("parent", "child")]
        for role, found in zip(("parent", "child"), ends, strict=True):
            if len(found) != 1 or found[0] not in links:
                yield f"joint '{name}' needs one <{role}> that is a link of this file, got {found}"
        for link in ends[1]:
            carriers.setdefault(link, []).append(name)
            parent.update((link, other) for other in ends[0])
        for mimic in joint.findall("mimic"):
            leader[name] = mimic.get("joint", "")
            if leader[name] not in joints:
                yield f"joint '{name}' mimics '{leader[name]}', which is no joint of this file"
    for link, names in carriers.items():
        if len(names) > 1:
            yield f"link '{link}' is the child of the joints {names}: a tree has no loops"
    roots = [link for link in dict.fromkeys(links) if link not in carriers]
    if len(roots) > 1 or not links:
        yield f"a robot has one root link, here are {roots}: join them by joints of type fixed"
    yield from (f"the links {loop} carry themselves in a loop" for loop in _circles(parent))
    yield from (f"the joints {each} mimic themselves" for each in _circles(leader))


def _circles(following: dict[str, str]) -> Iterator[list[str]]:
    """The first names, if there are any, that come back to themselves by what each one follows."""
    try:
        TopologicalSorter({name: [other] for name, other in following.items()}).prepare()
    except CycleError as error:
        yield error.args[1][:-1]


def _values(root: ET.Element) -> Iterator[str]:
    """Faults of attributes."""
    for part in (*root.findall("link"), *root.findall("joint")):
        found: list[str] = []
        for element in part.iter():
            for name, count in _NUMBERS.get(element.tag, {}).items():
                with _noted(found):
                    if element.get(name) is not None:
                        values = numbers(element, name, count, finite=element.tag != "limit")
                        if name == "xyz" and np.abs(values).max() > LARGEST_SIDE:
                            what = f'<origin xyz="{element.get(name)}"> is far away'
                            found.append(f"{what}, over {LARGEST_SIDE:g} m: is it in millimetres?")
        for collision in part.findall("collision"):
            with _noted(found):
                shape_of(collision)
        if part.get("type") in MOVABLE:
            with _noted(found):
                onto_axis(part)
        if part.get("type") in ("revolute", "prismatic") and not found:
            lower, upper = (limit_of(part, key) for key in ("lower", "upper"))
            if lower > upper:
                found.append(f"its lower limit {lower:g} is above its upper limit {upper:g}")
        yield from (f"{part.tag} '{part.get('name')}': {fault}" for fault in found)


@contextmanager
def _noted(found: list[str]) -> Iterator[None]:
    """A ValueError is appended to what was found."""
    try:
        yield
    except ValueError as error:
        found.append(str(error))


def leaders(table: dict[str, ET.Element], joint: str) -> list[tuple[str, ET.Element]]:
    """What a joint mimics: leaders and their followers' <mimic>, from the joint itself on."""
    found = []
    while table[joint].get("type") in MOVABLE:
        mimic = table[joint].find("mimic")
        if mimic is None or mimic.get("joint") not in table:
            break
        joint = mimic.get("joint", "")
        found.append((joint, mimic))
    return found


def check_moved(
    root: ET.Element,
    path: Path | str,
    moved: Collection[str],
    tips: Collection[str] = (),
    speeds: bool = True,
) -> None:
    """What the joints in q need, beside what ``read_urdf`` has checked.

    Args:
        moved: names of the joints in q; those that the file does not have are passed over.
        tips: links that must stand still relative to what these joints move, such as the tool's.
        speeds: whether the file's velocity limits are used.

    Raises:
        ValueError: a floating or planar joint carries one of the tips or of what ``moved`` moves; a
            joint outside q mimics one in it; or a moved joint's limits are missing or no limits.
    """
    table = {e.get("name", ""): e for e in root.findall("joint")}
    carriers = ways(root)
    moved = [name for name in moved if name in table]
    found = []
    for link in (*tips, *(joined_link(table[name], "child") for name in moved)):
        for joint in carriers[link]:
            if (kind := joint.get("type")) in ("floating", "planar"):
                what = "make it fixed, or joints in a row, each with its range"
                found.append(f"joint '{joint.get('name')}' is {kind} and carries the arm: {what}")
    for name in table:
        for leader, _ in leaders(table, name) if name not in moved else ():
            if leader in moved:
                what = "couplings are not planned. Let joints name it, too, or make it fixed"
                found.append(f"joint '{name}' mimics '{leader}', which is in q: {what}")
    found += [
        f"joint '{name}': {fault}" for name in moved for fault in _limits(table[name], speeds)
    ]
    refuse(path, found)


def _limits(joint: ET.Element, speeds: bool) -> Iterator[str]:
    """Faults of the limits of a joint in q."""
    turns = joint.get("type") == "revolute"
    advice = "state the real ones" + (", or use the type continuous" if turns else "")
    if joint.get("type") != "continuous":
        lower, upper = (limit_of(joint, key) for key in ("lower", "upper"))
        if joint.find("limit") is None:
            yield f"has no <limit lower upper>: {advice}"
        elif max(abs(lower), abs(upper)) > LARGEST_LIMIT:
            yield f"its limits {lower:g} to {upper:g} are none: {advice}"
        elif lower == upper:
            yield f"its limits {lower} to {upper} leave it no range"
    velocity, effort = (limit_of(joint, key, 1.0) for key in ("velocity", "effort"))
    if speeds and not 0.0 < velocity <= LARGEST_LIMIT:
        yield f"its velocity limit {velocity:g} is none: state it, or pass limits with a velocity"
    if not 0.0 <= effort < np.inf:
        yield f"its effort limit {effort:g} is none: state the real one, or leave it out"


def check_shapes(
    root: ET.Element, path: Path | str, tree: JointTree, shapes: Iterable[LinkShape]
) -> None:
    """What planning needs of the links. A link that is drawn, but has no shape, is warned of.

    Args:
        tree, shapes: of the same URDF, its meshes found.

    Raises:
        ValueError: no link that moves has a collision shape; or meshes of a link are too large.
    """
    corners: dict[str, list[Array]] = {}
    solid = set()
    for shape in shapes:
        solid.add(shape.link)
        if shape.hull is not None:
            x = shape.hull.vertices @ shape.X_LS[:3, :3].T + shape.X_LS[:3, 3]
            corners.setdefault(shape.link, []).append(x)
    found = []
    for link, points in corners.items():
        sides = np.ptp(np.vstack(points), axis=0)
        if not SMALLEST_SIDE <= sides.max() <= LARGEST_MESH:
            size = " x ".join(f"{side:.3g}" for side in sides)
            found.append(
                f"link '{link}' is {size} m by its meshes, expected at most {LARGEST_MESH:g} m: "
                'are they in millimetres? Then write scale="0.001 0.001 0.001"'
            )
    if not any(tree.link(link)[0] > 0 for link in solid):
        found.append("no link that moves has a <collision> shape: there is nothing to plan for")
    refuse(path, found)
    drawn = [e.get("name", "") for e in root.findall("link") if e.find("visual") is not None]
    if bare := [link for link in drawn if link not in solid]:
        _log.warning("%s: drawn without a collision shape, so never checked: %s", path, bare)
