"""Makes a RobotModel from a robot file: base, arms and grippers as one URDF."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.frames import Array, frozen, inverse, rotation_rpy, transform
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.robot_file import RobotFile
from galley.robots.base_urdf import base_elements, base_group, drop, stand_elements
from galley.robots.files import find_package_file
from galley.robots.gripper import MeasuredGripper, find_gripper
from galley.robots.model import JointGroup, RobotModel, join_groups, with_views
from galley.robots.urdf_arm import (
    MotionLimits,
    hull_of,
    joint_group,
    neighbours_and_always_touching,
)
from galley.robots.urdf_checks import check_moved, check_shapes, read_urdf
from galley.robots.urdf_prepare import fixed_joint, foot_of, origin_element, prepare, rename
from galley.robots.urdf_reader import (
    MOVABLE,
    JointTree,
    LinkShape,
    joined_link,
    limit_of,
    link_shapes,
    naming,
    origin_of,
    read_tree,
    ways,
)

_FINGER_RISE, _FINGER_JERK = 0.1, 0.05  # s to full speed of the fingers, to full acceleration
_ON_FLOOR = 0.005  # m: a base's shape whose lowest point is within this of the floor stands on it
_APART = 1e-3  # m between the first joints of two arms, at least
_LARGE, _ROUGH = 0.52, 0.03  # m: spheres of a longer link may reach this far beyond its hulls
_EFFORT = {"rad": 200.0, "m": 1000.0}  # N m and N, of joints whose URDF states no effort


def described_robot(file: RobotFile, base: MobileBaseSpec) -> RobotModel:
    """The model of a robot file, without kinematics.

    Args:
        file: the contents of the robot file.
        base: its base, with the room that it has in the scene.

    Raises:
        BadInput: the URDF, or what the robot file says of it, is wrong.
    """
    try:
        return _assembled(file, base)
    except (ValueError, FileNotFoundError) as error:
        lines = str(error).split("\n")
        raise BadInput([InputError(file.source, None, None, line) for line in lines]) from error


def _assembled(file: RobotFile, base: MobileBaseSpec) -> RobotModel:
    """``described_robot``, whose faults are still ValueErrors.

    1. Read the URDF of the arms, mount the gripper if it has one of its own, and put them on a
       base, or on a stand without shape.
    2. Check that base, arms and fingers are chains in the order of q.
    3. Measure each gripper, and add the frame of each hand.
    4. State missing efforts, write the whole as one text, and check its shapes.
    5. Find the pairs of links that are not checked for collision: declared ones, neighbours, those
       that always touch, and what is rigid with a hand or moved by its fingers.
    6. Make the model of each hand; they differ in which arm is called ``arm``.
    """
    root, mounted = _arms_and_gripper(file)
    foot = foot_of(root)
    if file.drives and not base.in_urdf:
        stand = base_elements(base, foot, f"{foot}_mount")
    else:
        stand = stand_elements(base, foot, *file.foot, drives=file.drives)
    whole = ET.Element("robot", name=file.name)
    whole.extend([*stand, *root])
    elements = {str(e.get("name")): e for e in whole.iter("joint")}
    own = [(*arm.arm, *_moving(arm)) for arm in file.arms]
    joints = (*base.joints, *itertools.chain(*own))
    for arm, names in zip(file.arms, own, strict=True):
        _check_chain(whole, arm, base.joints + names)
    _check_apart(whole, file.arms)
    for link in itertools.chain(*file.allowed):
        _below(whole, link, "may_touch")
    hands = [_hand(whole, arm, joints, "" if k else mounted) for k, arm in enumerate(file.arms)]
    _state_efforts(elements[name] for name in joints)
    for arm in file.arms:
        for name, effort in zip(arm.arm, arm.effort, strict=bool(arm.effort)):
            limit = elements[name].find("limit")
            assert limit is not None  # ``_state_efforts`` has seen to that
            limit.set("effort", repr(effort))
    ET.indent(whole)  # PyBullet misreads some long lines
    urdf = '<?xml version="1.0"?>\n' + ET.tostring(whole, encoding="unicode") + "\n"
    tree = read_tree(urdf, joints)
    shapes = link_shapes(urdf)
    check_shapes(whole, Path(file.source), tree, shapes)
    links = tuple(dict.fromkeys(shape.link for shape in shapes))
    groups = [base_group(base)]
    for arm in file.arms:
        limits = MotionLimits(**dict(arm.limits))
        groups.append(joint_group([elements[name] for name in arm.arm], limits))
        groups.append(_finger_group(elements, _moving(arm)))
    allowed = {(min(a, b), max(a, b)) for a, b in file.allowed}
    allowed |= neighbours_and_always_touching(urdf, join_groups("arms", groups[1::2]))
    for (carrier, _), arm in zip(hands, file.arms, strict=True):
        frames = {tree.link(carrier)[0], *(1 + joints.index(name) for name in _moving(arm))}
        rigid = sorted(link for link in links if tree.link(link)[0] in frames)
        allowed |= {*itertools.combinations(rigid, 2)}
    base_links = tuple(link for link in links if tree.link(link)[0] <= len(base.joints))
    hulls = [(s.link, s.hull.vertices) for s in shapes if s.hull is not None]
    large = dict.fromkeys(link for link, points in hulls if np.ptp(points, axis=0).max() > _LARGE)
    models = {}
    for k, (arm, (_, found)) in enumerate(zip(file.arms, hands, strict=True)):
        models[arm.hand] = RobotModel(
            name=file.name,
            groups=tuple(_named(groups, k, [other.hand for other in file.arms])),
            links=links,
            allowed_self_collisions=frozenset(allowed),
            fingers=arm.gripper.fingers,
            palm=arm.hand_frame,
            p_HT=frozen([0.0, 0.0, _depth(found)]),
            urdf=urdf,
            gripper=replace(
                found.gripper,
                opens_fully=arm.gripper.opens_fully,
                **cast(dict[str, Any], dict(arm.gripper.measures)),
            ),
            sphere_excess=(*RobotModel.sphere_excess, *((link, _ROUGH) for link in large)),
            base_links=base_links,
            wheels=_wheels(tree, shapes, base_links) if base.in_urdf else (),
            spacing=file.spacing,
            hand=arm.hand,
        )
    return with_views(models)


def _moving(arm: RobotFile) -> dict[str, tuple[float, float]]:
    """The finger joints of an arm, with their values closed and open (m or rad)."""
    return {name: (closed, wide) for name, closed, wide in arm.gripper.joints}


def _named(groups: Sequence[JointGroup], acting: int, hands: Sequence[str]) -> Iterator[JointGroup]:
    """The groups for one acting hand: those of another arm get its hand's name before their own."""
    yield groups[0]
    for k, hand in enumerate(hands):
        for group in groups[1 + 2 * k : 3 + 2 * k]:
            yield group if k == acting else replace(group, name=f"{hand}_{group.name}")


def _depth(gripper: MeasuredGripper) -> float:
    """The distance (m) from the hand's frame H to the grasp frame T, along z of T."""
    return float(gripper.X_RT[:3, 2] @ gripper.X_RT[:3, 3])


def _hand(
    whole: ET.Element, arm: RobotFile, joints: tuple[str, ...], mounted: str
) -> tuple[str, MeasuredGripper]:
    """The link that carries an arm's gripper, and its measures; adds the frame of its hand.

    Args:
        whole: the URDF, which is changed.
        arm: what the robot file says of the arm.
        joints: names of all joints in q.
        mounted: root link of a gripper with a URDF of its own; empty if it has none.
    """
    moving, fingers = _moving(arm), arm.gripper.fingers
    first = _joint(whole, next(iter(moving)))
    carrier, X_RT, grasp = mounted or joined_link(first, "parent"), None, arm.gripper.grasp
    if grasp is not None:
        _below(whole, grasp[0], "gripper.grasp")
        carrier, X_RT = grasp[0], transform(rotation_rpy(*grasp[2]), grasp[1])
    tree = read_tree(ET.tostring(whole, encoding="unicode"), joints)
    for finger in fingers:
        if finger in tree.links and joints[tree.link(finger)[0] - 1] in moving:
            _weld(whole, tree, finger)
    text, pad = ET.tostring(whole, encoding="unicode"), dict(arm.gripper.measures).get("pad")
    with naming("gripper"):
        found = find_gripper(text, moving, carrier, fingers, X_RT, pad)
        if _add_pads(whole, fingers, found.pads):
            text = ET.tostring(whole, encoding="unicode")
            found = find_gripper(text, moving, carrier, fingers, found.X_RT, pad)
    ET.SubElement(whole, "link", name=arm.hand_frame)
    X_RH = found.X_RT @ transform(translation=[0.0, 0.0, -_depth(found)])
    whole.append(fixed_joint(f"{arm.hand_frame}_mount", carrier, arm.hand_frame, X_RH))
    return carrier, found


def _wheels(
    tree: JointTree, shapes: Iterable[LinkShape], base_links: Collection[str]
) -> tuple[str, ...]:
    """The links of a base that stand on the floor; ValueError if one reaches below it."""
    ends: dict[str, float] = {}
    for shape in shapes:
        if shape.link in base_links:
            X = tree.link(shape.link)[1] @ shape.X_LS
            z = float((hull_of(shape).vertices @ X[2, :3]).min() + X[2, 3])
            ends[shape.link] = min(z, ends.get(shape.link, np.inf))
    if sunk := [link for link, z in ends.items() if z < -_ON_FLOOR]:
        raise ValueError(
            f"base: '{sunk[0]}' ends {-ends[sunk[0]]:.3f} m below the URDF's root, which stands on "
            "the floor: put a link there, as base_footprint is in many URDFs"
        )
    return tuple(link for link, z in ends.items() if z < _ON_FLOOR)


def _arms_and_gripper(file: RobotFile) -> tuple[ET.Element, str]:
    """The URDF of the arms with their grippers, and the root link of a mounted gripper, or ""."""
    spec, moving = file.gripper, _moving(file)
    others = {name for arm in file.others for name in (*arm.arm, *_moving(arm))}
    path = find_package_file(file.urdf, Path(file.source))
    root = read_urdf(path)
    for link in file.without:
        _remove(root, _below(root, link, "without"))
    moved = {*file.arm, *others} if spec.mount else {*file.arm, *moving, *others}
    check_moved(root, path, moved, speeds=any("velocity" not in dict(e.limits) for e in file.arms))
    fingers = [name for arm in file.arms for name in arm.gripper.fingers]
    hulls = file.convex_parts, _moved(root, fingers, {*moving, *others}), file.convex_slack
    movable = {str(e.get("name")) for e in root.iter("joint") if e.get("type") in MOVABLE} - moved
    for name, value in file.held:
        if name not in movable:
            raise ValueError(f"held: '{name}' is no joint outside q{did_you_mean(name, movable)}")
        joint = _joint(root, name)
        limits = limit_of(joint, "lower", -np.inf), limit_of(joint, "upper", np.inf)
        if joint.get("type") != "continuous" and not limits[0] <= value <= limits[1]:
            raise ValueError(f"held: '{name}' has limits from {limits[0]:g} to {limits[1]:g}")
    prepare(root, path, moved, *hulls, dict(file.held))
    if spec.mount is None:
        return root, ""
    own_path = find_package_file(spec.urdf, Path(file.source))
    own = read_urdf(own_path)
    start = spec.root or foot_of(own)
    _remove(own, ways(own).keys() - _below(own, start, "gripper.root"))
    check_moved(own, own_path, moving)
    hulls = file.convex_parts, _moved(own, spec.fingers, moving), file.convex_slack
    prepare(own, own_path, moving, *hulls)
    link, xyz, rpy = spec.mount
    _below(root, link, "gripper.mount")
    # Names that both URDFs have would be ambiguous: the gripper's are changed.
    for kind in ("link", "joint"):
        both = {e.get("name", "") for e in root.findall(kind)}
        both &= {e.get("name", "") for e in own.findall(kind)}
        rename(own, kind, {name: f"gripper_{name}" for name in both})
        start = f"gripper_{start}" if kind == "link" and start in both else start
    root.append(fixed_joint("gripper_mount", link, start, transform(rotation_rpy(*rpy), xyz)))
    root.extend(e for e in own if e.tag in ("link", "joint"))
    return root, start


def _moved(root: ET.Element, links: Iterable[str], joints: Collection[str]) -> list[str]:
    """The links that one of the joints moves."""
    carriers = ways(root)
    return [n for n in links if any(e.get("name") in joints for e in carriers.get(n, ()))]


def _remove(root: ET.Element, links: Collection[str]) -> None:
    """Remove links, and the joints at them."""
    for element in list(root):
        ends = [e.get("link") for e in element] if element.tag == "joint" else [element.get("name")]
        if element.tag in ("link", "joint") and not {*links}.isdisjoint(ends):
            root.remove(element)


def _below(root: ET.Element, link: str, key: str) -> set[str]:
    """A link and all links that it carries; ``key`` of the robot file names it in a fault."""
    carriers = ways(root)
    if link not in carriers:
        raise ValueError(f"{key}: the URDF has no link '{link}'{did_you_mean(link, carriers)}")
    return {n for n, w in carriers.items() if link in (n, *(joined_link(e, "parent") for e in w))}


def _check_chain(whole: ET.Element, file: RobotFile, joints: tuple[str, ...]) -> None:
    """Raise ValueError unless each joint of base and one arm carries the next.

    The finger joints must come behind the arm's last one.
    """
    known = [str(e.get("name")) for e in whole.iter("joint")]
    fingers = [name for name, _, _ in file.gripper.joints]
    missing = [
        f"{key}: the URDF has no joint '{name}'{did_you_mean(name, known)}"
        for key, names in (("arm", file.arm), ("gripper.joints", fingers))
        for name in names
        if name not in known
    ]
    if missing:
        raise ValueError("\n".join(missing))
    last = len(joints) - len(fingers)
    for k, carrier in enumerate(read_tree(ET.tostring(whole, encoding="unicode"), joints).parent):
        if k < last and carrier != k:
            raise ValueError(f"arm: '{joints[k]}' is not carried by '{joints[k - 1]}'")
        if carrier < min(k, last):
            raise ValueError(f"gripper.joints: '{joints[k]}' is not behind the arm's last joint")


def _joint(whole: ET.Element, name: str) -> ET.Element:
    """The <joint> of a name, which exists."""
    return next(e for e in whole.iter("joint") if e.get("name") == name)


def _check_apart(whole: ET.Element, arms: Sequence[RobotFile]) -> None:
    """Raise ValueError if two arms stand in one place."""
    tree = read_tree(ET.tostring(whole, encoding="unicode"), ())
    for one, other in itertools.combinations(arms, 2):
        joints = (_joint(whole, arm.arm[0]) for arm in (one, other))
        feet = [tree.link(joined_link(e, "parent"))[1] @ origin_of(e) for e in joints]
        if np.linalg.norm(feet[0][:3, 3] - feet[1][:3, 3]) < _APART:
            raise ValueError(
                f"other_arms: the arms of '{one.hand}' and '{other.hand}' stand in one place"
            )


def _finger_group(
    elements: Mapping[str, ET.Element], moving: Mapping[str, tuple[float, float]]
) -> JointGroup:
    """The group ``fingers`` from closed to open; ValueError if the URDF's limits are narrower."""
    plain = joint_group([elements[name] for name in moving], MotionLimits())
    ends = np.sort(np.array(list(moving.values())), axis=1)
    outside = (ends[:, 0] < plain.lower - 1e-6) | (ends[:, 1] > plain.upper + 1e-6)
    for k in np.flatnonzero(outside):
        limits = f"[{plain.lower[k]:g}, {plain.upper[k]:g}]"
        raise ValueError(f"gripper.joints: '{plain.joints[k]}' goes beyond its limits {limits}")
    acceleration = plain.velocity / _FINGER_RISE
    return replace(
        plain,
        name="fingers",
        lower=frozen(ends[:, 0]),
        upper=frozen(ends[:, 1]),
        acceleration=frozen(acceleration),
        jerk=frozen(acceleration / _FINGER_JERK),
    )


def _weld(whole: ET.Element, tree: JointTree, finger: str) -> None:
    """Give a finger the shapes of the links fixed to it, such as a pad: they touch items too."""
    joint, X_JF = tree.link(finger)
    links = {str(e.get("name")): e for e in whole.iter("link")}
    for name, link in links.items():
        own, X_JL = tree.link(name)
        for shape in [e for e in link if e.tag in ("visual", "collision")]:
            if own == joint and name != finger:
                link.remove(shape)
                X = inverse(X_JF) @ X_JL @ origin_of(shape)
                drop(shape, "origin")
                shape.append(origin_element(X))
                links[finger].append(shape)


def _add_pads(
    whole: ET.Element, fingers: tuple[str, str], pads: Sequence[tuple[Array, Array]]
) -> bool:
    """Put boxes on the pads of fingers that are meshes.

    Bullet finds wrong normals on a hull with many corners: an item that lies flat on a pad then
    clings to it.

    Args:
        whole: the URDF, which is changed.
        fingers: names of the links.
        pads: for each finger, the pose of the box in its link (4, 4), and its size (3,), m.

    Returns:
        Whether there are any.
    """
    added = False
    for finger, (X_LS, size) in zip(fingers, pads, strict=True):
        link = whole.find(f"link[@name='{finger}']")
        if link is not None and link.find("collision/geometry/mesh") is not None:
            collision, added = ET.SubElement(link, "collision"), True
            collision.append(origin_element(X_LS))
            geometry = ET.SubElement(collision, "geometry")
            ET.SubElement(geometry, "box", size=" ".join(map(repr, size.tolist())))
    return added


def _state_efforts(joints: Iterable[ET.Element]) -> None:
    """Give joints that state no effort a default: a motor without any would not move."""
    for joint in joints:
        if not limit_of(joint, "effort") > 0.0:
            limit = joint.find("limit")
            limit = ET.SubElement(joint, "limit") if limit is None else limit
            limit.set("effort", repr(_EFFORT["m" if joint.get("type") == "prismatic" else "rad"]))
