"""Makes a RobotModel of any arm with a fixed base, from its URDF file.

Pairs of links that are never checked: neighbours, and pairs that overlap in nearly all sampled
configurations, as in MoveIt's setup assistant. Pairs that never touch in the samples stay checked.
"""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.errors import did_you_mean
from galley.domain.frames import Array, as_pose, frozen, inverse
from galley.domain.meshes import Hull, hull
from galley.domain.scene.robot_file import CONVEX_PARTS
from galley.robots.model import ENDLESS, JointGroup, RobotModel
from galley.robots.urdf_checks import check_moved, check_shapes, read_urdf
from galley.robots.urdf_prepare import WORLD, fixed_joint, foot_of, prepare
from galley.robots.urdf_reader import (
    MOVABLE,
    JointTree,
    LinkShape,
    joined_link,
    limit_of,
    link_shapes,
    naming,
    read_tree,
    ways,
)

SAMPLES = 200
"""Random configurations in which links are tested for overlap."""
ALWAYS = 0.95
"""A pair is not checked if it overlaps in at least this fraction of the samples."""
DEFAULT_VELOCITY = {"rad": 1.0, "m": 0.1}
"""rad/s and m/s, velocity limits for joints whose URDF states none."""
RISE_TIME = 0.25
"""Seconds to full speed at the default acceleration, which no URDF states."""
JERK_TIME = 0.05
"""Seconds to full acceleration at the default jerk."""


@dataclass(frozen=True)
class MotionLimits:
    """Limits for each joint (n,), in rad or m per s, s^2 and s^3, in place of the defaults.

    Attributes:
        velocity: by default the URDF's, or ``DEFAULT_VELOCITY`` where it states none.
        acceleration: by default, so much that full speed is reached within ``RISE_TIME``.
        jerk: by default, so much that full acceleration is reached within ``JERK_TIME``.
    """

    velocity: ArrayLike | None = None
    acceleration: ArrayLike | None = None
    jerk: ArrayLike | None = None


def arm_from_urdf(
    path: str | Path,
    joints: Sequence[str] | None = None,
    tool_link: str | None = None,
    X_LT: ArrayLike | None = None,
    X_WB: ArrayLike | None = None,
    limits: MotionLimits = MotionLimits(),
    allowed_self_collisions: Collection[tuple[str, str]] = (),
    convex_parts: int = CONVEX_PARTS,
) -> RobotModel:
    """A RobotModel with one group, ``arm``. Joints that are not in it are fixed.

    A fixed joint stands as near to zero as its range allows; one that mimics another stands where
    that one puts it. The message about a faulty file has a line for each fault.

    Change the model's other attributes by ``dataclasses.replace``: ``ik``, ``name``,
    ``sphere_excess``.

    Args:
        path: URDF file. Mesh names may be relative to it, absolute, ``file://`` or ``package://``
            (see ``files.find_package_file``). STL and Collada meshes are replaced by OBJ copies in
            the user's cache, since Drake reads neither.
        joints: names of the joints in q, base first; default: all movable ones that lead to the
            tool link.
        tool_link: link that carries the tool; default: the link that the last of ``joints`` moves,
            or the end of the chain.
        X_LT: tool frame T in that link (4, 4); default: the link's own frame.
        X_WB: where the URDF's root stands in the world (4, 4); default: in the origin.
        limits: limits of velocity, acceleration and jerk.
        allowed_self_collisions: pairs of links, in any order, that are not checked, in addition to
            neighbours and pairs that overlap in nearly all sampled configurations
            (``neighbours_and_always_touching``).
        convex_parts: most hulls for a mesh; 1: its own convex hull. See ``meshes``.

    Raises:
        FileNotFoundError: the file, or one of its meshes, does not exist.
        BadInput: the file can't be read.
        ValueError: it is no URDF; it has faults (``urdf_checks``); names are unknown; or
            ``convex_parts`` is less than 1.
    """
    if convex_parts < 1:
        raise ValueError(f"convex_parts: a mesh has at least 1, got {convex_parts}")
    path = Path(path).resolve()
    root = read_urdf(path)
    table = {str(e.get("name")): e for e in root.findall("joint")}
    with naming(path):
        chain, tool_link = _chain(root, table, joints, tool_link)
    check_moved(root, path, chain, [tool_link], speeds=limits.velocity is None)
    prepare(root, path, chain, convex_parts)
    _stand_in_world(root, table, np.eye(4) if X_WB is None else as_pose(X_WB, "X_WB"))
    group = joint_group([table[joint] for joint in chain], limits)
    ET.indent(root)  # PyBullet misreads some long lines
    urdf = '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
    links = [str(e.get("name")) for e in root.findall("link")]
    allowed = _sorted_pairs(allowed_self_collisions, links)
    X_LT = frozen(np.eye(4) if X_LT is None else as_pose(X_LT, "X_LT"))
    with naming(path):
        tree, shapes = read_tree(urdf, group.joints), link_shapes(urdf)
    check_shapes(root, path, tree, shapes)
    links = list(dict.fromkeys(shape.link for shape in shapes))
    return RobotModel(
        name=str(root.get("name", path.stem)),
        groups=(group,),
        links=tuple(links),
        allowed_self_collisions=allowed | neighbours_and_always_touching(urdf, group),
        fingers=(),
        palm=tool_link,
        p_HT=frozen(X_LT[:3, 3]),
        urdf=urdf,
        X_LT=X_LT,
        base_links=tuple(link for link in links if tree.link(link)[0] <= 0),
    )


def _sorted_pairs(
    pairs: Collection[tuple[str, str]], links: list[str]
) -> frozenset[tuple[str, str]]:
    """Pairs of links, each with first < second.

    Raises:
        ValueError: one is not a pair of two of ``links``.
    """
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"allowed_self_collisions: {pair!r} is no pair of two links")
        for link in pair:
            if link not in links:
                known = did_you_mean(link, links) or f", there are {links}"
                raise ValueError(f"allowed_self_collisions: no link '{link}'{known}")
    return frozenset((min(pair), max(pair)) for pair in pairs)


def _chain(
    root: ET.Element,
    table: dict[str, ET.Element],
    joints: Sequence[str] | None,
    tool_link: str | None,
) -> tuple[tuple[str, ...], str]:
    """The joints in q, base first, and the tool link; see ``arm_from_urdf`` for the defaults.

    Raises:
        ValueError: unknown names, joints that don't move the tool link, or a robot that branches.
    """
    unknown = [joint for joint in joints or () if joint not in table]
    if unknown:
        raise ValueError(f"no joints {unknown}, there are {list(table)}")
    carriers = ways(root)
    if tool_link is None and joints:
        tool_link = joined_link(table[joints[-1]], "child")
    elif tool_link is None:
        inner = {joined_link(element, "parent") for element in table.values()}
        ends = [link for link in carriers if link not in inner]
        if len(ends) != 1:
            raise ValueError(f"the robot branches: choose tool_link, among its ends are {ends}")
        tool_link = ends[0]
    if tool_link not in carriers:
        raise ValueError(f"no link '{tool_link}', there are {[*carriers]}")
    movable = [str(e.get("name")) for e in carriers[tool_link] if e.get("type") in MOVABLE]
    if joints is None:
        joints = [joint for joint in movable if table[joint].find("mimic") is None]
    astray = [joint for joint in joints if joint not in movable]
    if astray or not joints:
        raise ValueError(
            f"joints {astray or list(joints)} do not move '{tool_link}'; these do: {movable}"
        )
    return tuple(joint for joint in movable if joint in joints), tool_link


def joint_group(elements: list[ET.Element], limits: MotionLimits) -> JointGroup:
    """The group ``arm`` of <joint> elements, with the limits of ``MotionLimits``."""
    units = tuple("m" if e.get("type") == "prismatic" else "rad" for e in elements)
    lower, upper, speed = [], [], []
    for element, unit in zip(elements, units, strict=True):
        endless = element.get("type") == "continuous"
        lower.append(-ENDLESS if endless else limit_of(element, "lower"))
        upper.append(ENDLESS if endless else limit_of(element, "upper"))
        speed.append(limit_of(element, "velocity", DEFAULT_VELOCITY[unit]))
    names = tuple(str(e.get("name")) for e in elements)
    v = frozen(speed if limits.velocity is None else limits.velocity)
    a = frozen(v / RISE_TIME if limits.acceleration is None else limits.acceleration)
    j = frozen(a / JERK_TIME if limits.jerk is None else limits.jerk)
    return JointGroup("arm", names, units, frozen(lower), frozen(upper), v, a, j)


def _stand_in_world(root: ET.Element, table: dict[str, ET.Element], X_WB: Array) -> None:
    """Add a root link ``world`` without shape, to which the URDF's root is fixed at X_WB."""
    moved = {joined_link(element, "child") for element in table.values()}
    base = next(e for e in root.findall("link") if e.get("name") not in moved)
    plain = base.find("collision") is None and base.find("visual") is None
    if plain and np.array_equal(X_WB, np.eye(4)):
        return
    name = f"{WORLD}_mount"
    while name in table:
        name += "_0"
    # If the name ``world`` is taken: to Drake that link is the world itself.
    mount = fixed_joint(name, WORLD, foot_of(root), X_WB)
    root[:0] = [ET.Element("link", name=WORLD), mount]


def neighbours_and_always_touching(urdf: str, group: JointGroup) -> frozenset[tuple[str, str]]:
    """Pairs of links (first < second) that are not checked for collision.

    Neighbours are links on one frame (connected by fixed joints) or one joint apart. Other pairs
    overlap by design if points of one are inside the other in at least ``ALWAYS`` of ``SAMPLES``
    random configurations.
    """
    tree = read_tree(urdf, group.joints)
    shapes: dict[str, list[tuple[Hull, Array]]] = {}
    for shape in link_shapes(urdf):
        shapes.setdefault(shape.link, []).append((hull_of(shape), shape.X_LS))
    frame = {link: tree.link(link)[0] for link in shapes}
    neighbours = {
        (min(a, b), max(a, b))
        for a, b in itertools.combinations(shapes, 2)
        if _adjacent(tree, frame[a], frame[b])
    }
    # The other pairs, until they have been apart too often to count as touching always.
    open_pairs = [p for p in itertools.combinations(sorted(shapes), 2) if p not in neighbours]
    misses = dict.fromkeys(open_pairs, 0)
    rng = np.random.default_rng(0)
    for q in rng.uniform(*group.turn, (SAMPLES, group.size)):
        poses = tree.poses(q)
        X_WL = {link: poses[frame[link]] @ tree.link(link)[1] for link in shapes}
        for a, b in open_pairs:
            misses[a, b] += not any(
                _overlap(A, X_WL[a] @ X_A, B, X_WL[b] @ X_B)
                for A, X_A in shapes[a]
                for B, X_B in shapes[b]
            )
        open_pairs = [p for p in open_pairs if misses[p] <= (1.0 - ALWAYS) * SAMPLES]
    return frozenset(neighbours | set(open_pairs))


def hull_of(shape: LinkShape) -> Hull:
    """A shape's convex hull in its own frame; round shapes as polyhedra inside them."""
    from trimesh import creation

    if shape.hull is not None:
        return shape.hull
    if shape.kind == "box":
        made = creation.box(shape.size)
    elif shape.kind == "cylinder":
        made = creation.cylinder(shape.size[0], shape.size[1], sections=24)
    else:
        made = creation.icosphere(2, shape.size[0])
    return hull(made.vertices)


def _adjacent(tree: JointTree, i: int, j: int) -> bool:
    """Whether two frames are the same, or one joint apart."""
    if i == j:
        return True
    return (i > 0 and tree.parent[i - 1] == j) or (j > 0 and tree.parent[j - 1] == i)


def _overlap(A: Hull, X_WA: Array, B: Hull, X_WB: Array) -> bool:
    """Whether a corner of one hull, or a point halfway to its middle, is inside the other."""
    apart = np.linalg.norm((X_WA - X_WB)[:3, 3] + X_WA[:3, :3] @ A.centre - X_WB[:3, :3] @ B.centre)
    if apart > A.radius + B.radius:
        return False
    return _enters(A, inverse(X_WB) @ X_WA, B) or _enters(B, inverse(X_WA) @ X_WB, A)


def _enters(A: Hull, X_BA: Array, B: Hull) -> bool:
    """Whether a corner of A, its middle, or a point halfway between them is inside B."""
    points = np.vstack([A.vertices, 0.5 * (A.vertices + A.centre), A.centre])
    return bool((B.distance(points @ X_BA[:3, :3].T + X_BA[:3, 3]) < 0.0).any())
