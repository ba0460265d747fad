"""Checks a URDF before anything uses it: a line for every fault, with the link or joint.

``read_urdf`` reads a file and checks that it is a valid URDF, ``check_moved`` checks the joints in
q, and ``check_shapes`` the links' collision shapes.
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
# rad, m or their rates: a larger limit stands for none.
LARGEST_LIMIT = 1e3
# m, of a link's mesh. The file of a larger one is most likely in millimetres.
LARGEST_MESH = 10.0

_log = logging.getLogger(__name__)

# How many numbers each attribute has, for those that are read anywhere; shapes have ``shape_of``.
_NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3},
    "limit": dict.fromkeys(("lower", "upper", "velocity", "effort"), 1),
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
}


def read_urdf(path: Path | str) -> ET.Element:
    """The root element of a URDF file, whose links and joints form a tree.

    Raises:
        FileNotFoundError: no such file.
        BadInput: the file can't be read.
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
    """The URDF that a xacro file expands to with all its defaults, by the package ``xacro``."""
    if importlib.util.find_spec("xacro") is None:
        raise ValueError(f"{path}: is a xacro file; to read it, pip install xacro")
    import xacro

    try:
        return ET.fromstring(xacro.process_file(str(path)).toxml())
    except Exception as error:  # xacro raises many kinds, of its own and of Python's
        raise ValueError(f"{path}: xacro: {str(error).splitlines()[0]}") from error


def refuse(path: Path | str, faults: Iterable[str]) -> None:
    """Raises ValueError with a line for each fault of a file, if there are any."""
    if lines := list(dict.fromkeys(f"{path}: {fault}" for fault in faults)):
        raise ValueError("\n".join(lines))


def _structure(root: ET.Element) -> Iterator[str]:
    """Faults of names and joint types, and of the tree of links."""
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
        for role, named in zip(("parent", "child"), ends, strict=True):
            if len(named) != 1 or named[0] not in links:
                yield f"joint '{name}' needs one <{role}> that is a link of this file, got {named}"
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
    yield from (f"the joints {loop} mimic themselves" for loop in _circles(leader))


def _circles(following: dict[str, str]) -> Iterator[list[str]]:
    """The names of the first cycle, if there is one, in a map from each name to the next."""
    try:
        TopologicalSorter({name: [other] for name, other in following.items()}).prepare()
    except CycleError as error:
        yield error.args[1][:-1]


def _values(root: ET.Element) -> Iterator[str]:
    """Faults of the numbers in links and joints: origins, shapes, axes, limits."""
    for part in (*root.findall("link"), *root.findall("joint")):
        faults: list[str] = []
        for element in part.iter():
            for name, count in _NUMBERS.get(element.tag, {}).items():
                with _noted(faults):
                    if element.get(name) is not None:
                        values = numbers(element, name, count, finite=element.tag != "limit")
                        if name == "xyz" and np.abs(values).max() > LARGEST_SIDE:
                            far = f'<origin xyz="{element.get(name)}"> is far away'
                            faults.append(f"{far}, over {LARGEST_SIDE:g} m: is it in millimetres?")
        for collision in part.findall("collision"):
            with _noted(faults):
                shape_of(collision)
        if part.get("type") in MOVABLE:
            with _noted(faults):
                onto_axis(part)
        # Limits are numbers only if nothing was wrong so far.
        if part.get("type") in ("revolute", "prismatic") and not faults:
            lower, upper = (limit_of(part, key) for key in ("lower", "upper"))
            if lower > upper:
                faults.append(f"its lower limit {lower:g} is above its upper limit {upper:g}")
        yield from (f"{part.tag} '{part.get('name')}': {fault}" for fault in faults)


@contextmanager
def _noted(faults: list[str]) -> Iterator[None]:
    """Appends the message of a ValueError from inside to the faults."""
    try:
        yield
    except ValueError as error:
        faults.append(str(error))


def leaders(table: dict[str, ET.Element], joint: str) -> list[tuple[str, ET.Element]]:
    """The joints that a joint mimics, nearest first, each with its follower's <mimic> element.

    Args:
        table: <joint> elements by name.
        joint: name of the follower.
    """
    chain = []
    while table[joint].get("type") in MOVABLE:
        mimic = table[joint].find("mimic")
        if mimic is None or mimic.get("joint") not in table:
            break
        joint = mimic.get("joint", "")
        chain.append((joint, mimic))
    return chain


def check_moved(
    root: ET.Element,
    path: Path | str,
    moved: Collection[str],
    tips: Collection[str] = (),
    speeds: bool = True,
) -> None:
    """Checks the joints in q, of a URDF from ``read_urdf``.

    Args:
        root: the URDF.
        path: of its file, for the faults.
        moved: names of the joints in q; those that the file does not have are passed over.
        tips: links that no other joints may move, such as the tool's.
        speeds: whether the file's velocity limits are used.

    Raises:
        ValueError: a floating or planar joint carries one of the tips, or a link that a joint in q
            moves; a joint outside q mimics one in it; or the limits of a joint in q are missing,
            empty or too large to be real.
    """
    table = {e.get("name", ""): e for e in root.findall("joint")}
    carriers = ways(root)
    moved = [name for name in moved if name in table]
    faults = []
    for link in (*tips, *(joined_link(table[name], "child") for name in moved)):
        for joint in carriers[link]:
            if (kind := joint.get("type")) in ("floating", "planar"):
                what = "make it fixed, or replace it by single joints with limits"
                faults.append(f"joint '{joint.get('name')}' is {kind} and carries the arm: {what}")
    for name in table:
        for leader, _ in leaders(table, name) if name not in moved else ():
            if leader in moved:
                what = "coupled joints are not planned. Add it to joints, or make it fixed"
                faults.append(f"joint '{name}' mimics '{leader}', which is in q: {what}")
    faults += [
        f"joint '{name}': {fault}" for name in moved for fault in _limits(table[name], speeds)
    ]
    refuse(path, faults)


def _limits(joint: ET.Element, speeds: bool) -> Iterator[str]:
    """Faults of the limits of a joint in q."""
    turns = joint.get("type") == "revolute"
    advice = "state the real ones" + (", or use the type continuous" if turns else "")
    if joint.get("type") != "continuous":
        lower, upper = (limit_of(joint, key) for key in ("lower", "upper"))
        if joint.find("limit") is None:
            yield f"has no <limit lower upper>: {advice}"
        elif max(abs(lower), abs(upper)) > LARGEST_LIMIT:
            yield f"its limits {lower:g} to {upper:g} are too large: {advice}"
        elif lower == upper:
            yield f"its limits {lower} to {upper} leave it no range"
    velocity, effort = (limit_of(joint, key, 1.0) for key in ("velocity", "effort"))
    if speeds and not 0.0 < velocity <= LARGEST_LIMIT:
        yield f"its velocity limit {velocity:g} is invalid: state it, or pass limits with velocity"
    if not 0.0 <= effort < np.inf:
        yield f"its effort limit {effort:g} is invalid: state the real one, or leave it out"


def check_shapes(
    root: ET.Element, path: Path | str, tree: JointTree, shapes: Iterable[LinkShape]
) -> None:
    """Checks the collision shapes of the links; logs a warning of links that have visuals only.

    Args:
        root: the URDF.
        path: of its file, for the faults.
        tree: its joints.
        shapes: its collision shapes, with meshes.

    Raises:
        ValueError: no link that moves has a collision shape; or meshes of a link are too large or
            too small.
    """
    corners: dict[str, list[Array]] = {}
    solid = set()
    for shape in shapes:
        solid.add(shape.link)
        if shape.hull is not None:
            x = shape.hull.vertices @ shape.X_LS[:3, :3].T + shape.X_LS[:3, 3]
            corners.setdefault(shape.link, []).append(x)
    faults = []
    for link, points in corners.items():
        sides = np.ptp(np.vstack(points), axis=0)
        if not SMALLEST_SIDE <= sides.max() <= LARGEST_MESH:
            size = " x ".join(f"{side:.3g}" for side in sides)
            faults.append(
                f"link '{link}' is {size} m by its meshes, expected at most {LARGEST_MESH:g} m: "
                'are they in millimetres? Then write scale="0.001 0.001 0.001"'
            )
    if not any(tree.link(link)[0] > 0 for link in solid):
        faults.append("no link that moves has a <collision> shape: there is nothing to plan for")
    refuse(path, faults)
    drawn = [e.get("name", "") for e in root.findall("link") if e.find("visual") is not None]
    if bare := [link for link in drawn if link not in solid]:
        _log.warning("%s: drawn without a collision shape, so never checked: %s", path, bare)
