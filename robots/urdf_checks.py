"""What is wrong in a URDF, before anything uses it: every fault in a line, with link or joint.

``read_urdf`` reads a file and checks what must be so in any URDF, ``check_moved`` what the joints
in q need, ``check_shapes`` what planning needs of the links.
"""

from __future__ import annotations

import io
import logging
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from galley.domain.errors import did_you_mean
from galley.domain.files import read_bytes
from galley.domain.frames import Array
from galley.domain.meshes import LARGEST_SIDE, SMALLEST_SIDE
from galley.robots.urdf_reader import MOVABLE, JointTree, LinkShape, joined_link, numbers

TYPES = (*MOVABLE, "fixed", "floating", "planar")
LARGEST_LIMIT = 1e3
"""rad, m or their rates: beyond, a limit is none."""
LARGEST_MESH = 10.0
"""m, of a link's mesh. A longer one is in millimetres, by all experience."""

_log = logging.getLogger(__name__)

_SHAPES = ("box", "cylinder", "sphere", "mesh")
# How many numbers the attributes of elements have that are read somewhere.
_NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "limit": dict.fromkeys(("lower", "upper", "velocity", "effort"), 1),
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
    "mesh": {"scale": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
}


def read_urdf(path: Path) -> ET.Element:
    """The root of a URDF whose links and joints form a tree, and whose numbers are numbers.

    Raises:
        FileNotFoundError: no such file.
        BadInput: it can't be read.
        ValueError: it is no URDF; or a line for each of its faults.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        root = ET.parse(io.BytesIO(read_bytes(path))).getroot()
    except (ET.ParseError, LookupError, ValueError) as error:  # the others: an unknown encoding
        raise ValueError(f"{path}: not XML: {error}") from error
    if root.tag != "robot":
        raise ValueError(f"{path}: a URDF's root is <robot>, not <{root.tag}>")
    if any("xacro}" in str(element.tag) for element in root.iter()):
        raise ValueError(f"{path}: is written in xacro: make a URDF of it by the tool xacro")
    refuse(path, [*_structure(root), *_values(root)])
    return root


def refuse(path: Path, faults: Iterable[str]) -> None:
    """Raises ValueError with a line for each fault of a file, if there are any."""
    if lines := list(dict.fromkeys(f"{path}: {fault}" for fault in faults)):
        raise ValueError("\n".join(lines))


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What is wrong inside is said with the file's name."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _structure(root: ET.Element) -> Iterator[str]:
    """Faults of names, and of the tree of links."""
    links = [e.get("name", "") for e in root.findall("link")]
    joints = root.findall("joint")
    if not links:
        yield "has no <link>"
    for kind, names in (("link", links), ("joint", [e.get("name", "") for e in joints])):
        for name, count in Counter(names).items():
            if not name:
                yield f"a <{kind}> has no name"
            elif count > 1:
                yield f"{kind} '{name}' is declared {count} times"
    carriers: dict[str, list[ET.Element]] = {}
    for joint in joints:
        name = joint.get("name")
        if joint.get("type") not in TYPES:
            yield f"joint '{name}' has the type '{joint.get('type')}', expected {', '.join(TYPES)}"
        for role in ("parent", "child"):
            ends = [e.get("link") for e in joint.findall(role)]
            if len(ends) != 1 or not ends[0]:
                yield f"joint '{name}' needs one <{role}> that names a link"
            elif ends[0] not in links:
                known = did_you_mean(ends[0], links)
                yield f"joint '{name}': its {role} '{ends[0]}' is no link of this file{known}"
            elif role == "child":
                carriers.setdefault(ends[0], []).append(joint)
    for link, several in carriers.items():
        if len(several) > 1:
            names = [e.get("name", "") for e in several]
            yield f"link '{link}' is the child of the joints {names}: a tree has no loops"
    roots = [link for link in dict.fromkeys(links) if link not in carriers]
    if len(roots) > 1:
        yield f"a robot has one root link, here are {roots}: join them by joints of type fixed"
    above = {link: (e[0].find("parent"), e[0]) for link, e in carriers.items()}
    yield from _loops({k: (p.get("link", ""), e) for k, (p, e) in above.items() if p is not None})
    yield from _mimics({e.get("name", ""): e for e in joints})


def _loops(above: dict[str, tuple[str, ET.Element]]) -> Iterator[str]:
    """Joints whose links carry each other in a circle, by each link's parent and its joint."""
    seen: set[str] = set()
    for link in above:
        way: dict[str, None] = {}
        while link in above and link not in seen:
            seen.add(link)
            way[link] = None
            link = above[link][0]
        if link in way:
            loop = list(way)[list(way).index(link) :]
            names = [above[each][1].get("name", "") for each in loop]
            yield f"the joints {names} carry each other in a loop, by the links {loop}"


def _mimics(table: dict[str, ET.Element]) -> Iterator[str]:
    """Joints that mimic what can't be mimicked."""
    leader = {k: m.get("joint") for k, e in table.items() if (m := e.find("mimic")) is not None}
    for name, followed in leader.items():
        if followed not in table:
            yield f"joint '{name}' mimics '{followed}', which is no joint of this file"
        way = {name}
        while followed in leader and followed not in way:
            way.add(followed)
            followed = leader[followed]
        if followed == name:
            yield f"joint '{name}' mimics itself" + (f", by {sorted(way)}" if len(way) > 1 else "")


def _values(root: ET.Element) -> Iterator[str]:
    """Faults of attributes."""
    for part in (*root.findall("link"), *root.findall("joint")):
        found = [f for e in part for each in e.iter() for f in _attributes(each, e.tag != "visual")]
        for collision in part.findall("collision"):
            shapes = [e.tag for e in collision.findall("geometry/*")]
            if not shapes:
                found.append("a <collision> without a shape in its <geometry>")
            elif len(shapes) > 1 or shapes[0] not in _SHAPES:
                found.append(f"collision shape {shapes}, expected one of {list(_SHAPES)}")
        if part.tag == "joint" and not found:
            found += _joint(part)
        yield from (f"{part.tag} '{part.get('name')}': {fault}" for fault in found)


def _attributes(element: ET.Element, solid: bool) -> Iterator[str]:
    """Faults of an element's own numbers; sizes count where the part is ``solid``."""
    tag = element.tag
    sized = solid and tag in _SHAPES and tag != "mesh"
    for name, count in _NUMBERS.get(tag, {}).items():
        if not sized and element.get(name) is None:
            continue
        what = f'<{tag} {name}="{element.get(name)}">'
        try:
            values = numbers(element, name, count, finite=tag != "limit")
        except ValueError as error:
            yield str(error)
            continue
        if sized and min(values) <= 0.0:
            yield f"{what}: sizes must be positive"
        elif sized and not SMALLEST_SIDE <= min(values) <= max(values) <= LARGEST_SIDE:
            yield f"{what}: sizes must lie between {SMALLEST_SIDE:g} and {LARGEST_SIDE:g} m"
        elif name == "xyz" and tag == "origin" and np.abs(values).max() > LARGEST_SIDE:
            yield f"{what} is more than {LARGEST_SIDE:g} m away: is it in millimetres?"
        elif name == "scale" and solid and 0.0 in values:
            yield f"{what} leaves nothing of the mesh"


def _joint(joint: ET.Element) -> Iterator[str]:
    """Faults of a joint whose numbers are numbers."""
    axis, kind = joint.find("axis"), joint.get("type")
    if axis is not None and axis.get("xyz") is not None and kind in (*MOVABLE, "planar"):
        length = np.linalg.norm(numbers(axis, "xyz", 3))
        if not 1e-6 < length < 1e6:
            yield f'<axis xyz="{axis.get("xyz")}"> has no direction'
    lower, upper = (_limit(joint, key, 0.0) for key in ("lower", "upper"))
    if lower > upper and kind in ("revolute", "prismatic"):
        yield f"its lower limit {lower:g} is above its upper limit {upper:g}"


def _limit(joint: ET.Element, key: str, default: float) -> float:
    limit = joint.find("limit")
    return default if limit is None else float(limit.get(key, default))


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
    path: Path,
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
    refuse(path, _moved_faults(root, moved, tips, speeds))


def _moved_faults(
    root: ET.Element, moved: Collection[str], tips: Collection[str], speeds: bool
) -> Iterator[str]:
    table = {e.get("name", ""): e for e in root.findall("joint")}
    above = {joined_link(e, "child"): e for e in table.values()}
    moved = [name for name in moved if name in table]
    for link in (*tips, *(joined_link(table[name], "child") for name in moved)):
        while link in above:
            kind = above[link].get("type")
            if kind in ("floating", "planar"):
                yield (
                    f"joint '{above[link].get('name')}' is {kind} and carries the arm: make it "
                    "fixed, or three joints in a row, each with its range"
                )
            link = joined_link(above[link], "parent")
    for name in table:
        for leader, _ in leaders(table, name) if name not in moved else ():
            if leader in moved:
                yield (
                    f"joint '{name}' mimics '{leader}', which is in q, but would stand still: "
                    f"couplings are not planned. List '{name}' in joints to plan it as a joint of "
                    "its own, or make it fixed"
                )
    for name in moved:
        yield from (f"joint '{name}': {fault}" for fault in _limit_faults(table[name], speeds))


def _limit_faults(joint: ET.Element, speeds: bool) -> Iterator[str]:
    """Faults of the limits of a joint in q."""
    turns = joint.get("type") == "revolute"
    advice = "state the real ones" + (", or use the type continuous" if turns else "")
    if joint.get("type") != "continuous":
        lower, upper = (_limit(joint, key, 0.0) for key in ("lower", "upper"))
        if joint.find("limit") is None:
            yield f"has no <limit lower upper>: {advice}"
        elif max(abs(lower), abs(upper)) > LARGEST_LIMIT:
            yield f"its limits {lower:g} to {upper:g} are none: {advice}"
        elif lower == upper:
            yield f"its limits {lower} to {upper} leave it no range"
    velocity, effort = (_limit(joint, key, 1.0) for key in ("velocity", "effort"))
    if speeds and not 0.0 < velocity <= LARGEST_LIMIT:
        yield f"its velocity limit {velocity:g} is none: state it, or pass limits with a velocity"
    if not 0.0 <= effort < np.inf:
        yield f"its effort limit {effort:g} is none: state the real one, or leave it out"


def check_shapes(
    root: ET.Element, path: Path, tree: JointTree, shapes: Iterable[LinkShape]
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
