"""Reads a scene file (YAML, version 1) into a Scene. The format is documented in docs/scene.md.

``schema`` validates each entry by itself. Here the entries become a Scene, and rules that concern
several of them are checked.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from galley.domain.frames import frozen
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.bodies import (
    check_body_tree,
    check_handles,
    read_body,
    read_item,
    read_joint,
    read_region,
    within,
)
from galley.domain.scene.extended import merged
from galley.domain.scene.model import (
    WORLD,
    Binding,
    Handle,
    Physics,
    Region,
    RobotSpec,
    Scene,
    Spot,
    Stance,
)
from galley.domain.scene.robot_file import HAND_FRAME
from galley.domain.scene.schema import (
    SECTIONS,
    VERSION,
    BindingEntry,
    HandleEntry,
    RobotEntry,
    SceneFile,
    StanceEntry,
    unit,
)
from galley.domain.yaml_models import YamlFile

SHIPPED_HAND, _SHIPPED_JOINTS, _SHIPPED_OPENING = "panda_hand", 7, 0.04  # of ``mobile_panda``


def load_scene(path: str | Path, robot: str | Path | None = None) -> Scene:
    """The Scene of a file, or of a shipped one by its bare name.

    Args:
        path: the scene file.
        robot: a robot file that replaces the scene's robot, or None. That robot starts folded, at
            the start pose of the scene's base.

    Raises:
        BadInput: every error found, each with its line and key. Errors of form and unknown names
            come first; if there are none, errors of geometry and of entries that don't match.
    """
    file = merged(path, robot)
    given = file.read(SceneFile, _names(file))
    stances = tuple(_stance(name, each) for name, each in given.stances.items())
    spec = replace(_robot(file, given.robot, stances), replaces="" if robot is None else str(robot))
    physics = Physics(**dict(given.physics) | {"gravity": frozen(given.physics.gravity)})
    # The gripper's own force takes precedence over the scene's.
    if spec.file is not None and spec.file.gripper.force is not None:
        physics = replace(physics, finger_force=spec.file.gripper.force)
    joints = tuple(read_joint(name, each) for name, each in given.joints.items())
    bodies = tuple(read_body(file, name, each, physics) for name, each in given.bodies.items())
    check_body_tree(file, bodies, joints)
    regions = tuple(read_region(name, each) for name, each in given.regions.items())
    placed = [read_item(file, n, each, physics, regions) for n, each in given.items.items()]
    bindings = tuple(_binding(file, n, each, regions, spec) for n, each in given.objects.items())
    _check_bound_once(file, bindings)
    scene = Scene(
        name=given.name,
        version=VERSION,
        source=str(file.path),
        physics=physics,
        robot=spec,
        bodies=bodies,
        joints=joints,
        regions=regions,
        handles=tuple(_handle(name, each) for name, each in given.handles.items()),
        items=tuple(item for _, item in placed),
        stances=stances,
        bindings=bindings,
        places=file.places(),
    )
    file.finish()
    check_handles(file, scene)
    _check_stances(file, scene)
    file.finish()
    # Item poses are still in the frames of their regions' bodies: convert them to the world.
    start = np.array([joint.start for joint in joints])
    in_world = [
        replace(item, X_WI=frozen(scene.body_pose(body, start) @ item.X_WI))
        for body, item in placed
    ]
    return replace(scene, items=tuple(in_world))


def _names(file: YamlFile) -> dict[str, tuple[str, ...] | None]:
    """The names that may be referred to, by section; None if an error hides them."""
    top = file.pairs(file.root, ())
    sound = set(top) <= set(SceneFile.model_fields)
    names = {n: file.names(n) if n in top or not sound else () for n in SECTIONS}
    bodies, regions = names["bodies"], names["regions"]
    parents = None if bodies is None else (*bodies, WORLD)
    inside = [name for name in regions or () if "volume" in (file.names("regions", name) or ())]
    surfaces = None if regions is None else tuple(n for n in regions if n not in inside)
    return names | {"parents": parents, "surfaces": surfaces}


def _handle(name: str, entry: HandleEntry) -> Handle:
    directions = {"approach": unit(entry.approach), "closing": unit(entry.closing)}
    return Handle(name, **dict(entry) | {"point": frozen(entry.point), **directions})


def _stance(name: str, entry: StanceEntry) -> Stance:
    low, high = np.array([entry.x, entry.y, entry.heading]).T
    return Stance(name, frozen(low), frozen(high))


def _robot(file: YamlFile, entry: RobotEntry, stances: tuple[Stance, ...]) -> RobotSpec:
    """The robot: a shipped model or one from a file, with its base and start configuration."""
    base, start = MobileBaseSpec(**entry.base.given()), entry.start
    if entry.base.lower is None and entry.base.upper is None:  # it may go to every stance set
        low = np.vstack([base.lower, *(s.lower for s in stances)]).min(axis=0)
        high = np.vstack([base.upper, *(s.upper for s in stances)]).max(axis=0)
        lower, upper = (*low[:2].tolist(), base.lower[2]), (*high[:2].tolist(), base.upper[2])
        base = replace(base, lower=lower, upper=upper)
    if entry.file is None:
        made, hand, sizes, folded = None, SHIPPED_HAND, [_SHIPPED_JOINTS], tuple[float, ...]()
        fingers = [[_SHIPPED_OPENING if start.fingers is None else start.fingers] * 2]
    else:
        source = file.places().get("robot.file.name")
        made = entry.file.file(str(file.path) if source is None else source.file)
        base, hand = made.base(base, start.base), made.hand or HAND_FRAME
        sizes = [len(each.arm) for each in made.arms]
        folded = tuple(angle for each in made.arms for angle in each.folded)
        fingers = [[wide for _, _, wide in each.gripper.joints] for each in made.arms]
        if start.fingers is not None:
            file.fault(("robot", "start", "fingers"), "is for shipped models; these start open")
    arm = folded if start.arm is None else start.arm
    if len(arm) != sum(sizes):
        file.fault(("robot", "start", "arm"), f"needs {sum(sizes)} joint angles, got {len(arm)}")
    arms = np.split(np.array(arm), np.cumsum(sizes)[:-1])
    q = frozen(np.concatenate([start.base, *chain(*zip(arms, fingers, strict=True))]))
    if (q[:3] < np.array(base.lower) - 1e-9).any() or (q[:3] > np.array(base.upper) + 1e-9).any():
        file.fault(("robot", "start", "base"), "lies outside the base's limits")
    model = entry.model or ""
    name = entry.name or (model if made is None else made.name)
    return RobotSpec(name, model, base, q, hand, made)


def _binding(
    file: YamlFile, name: str, entry: BindingEntry, regions: tuple[Region, ...], robot: RobotSpec
) -> Binding:
    """The binding of the PDDL object ``name``."""
    if entry.hand is not None:
        hands = robot.hands or (robot.hand,)
        if entry.hand in hands:
            return Binding(name, entry.which, entry.hand)
        if robot.file is None or (robot.hands and not robot.replaces):
            called = "hands are" if robot.hands else "hand is"
            what = f"the robot's {called} called {' and '.join(hands)}, got {entry.hand}"
            file.fault(("objects", name, "hand"), what)
        return Binding(name, entry.which, robot.hand)
    if entry.item is not None:
        return Binding(name, entry.which, entry.item)
    assert entry.stance is not None
    spot = None
    if entry.at is not None:
        xy = np.array(entry.at.xy)
        region = next(each for each in regions if each.name == entry.region)
        if not within(region, xy).any():
            what = f"[{xy[0]:g}, {xy[1]:g}] lies outside the region '{region.name}'"
            file.fault(("objects", name, "at", "xy"), what)
        spot = Spot(frozen(xy), entry.at.yaw)
    more = entry.given("region", "handle", "staging", "label")
    return Binding(name, "furniture", entry.stance, opening=entry.opening, spot=spot, **more)


def _check_stances(file: YamlFile, scene: Scene) -> None:
    """Reports each stance set in use that lies outside the base's limits.

    It is only a warning for a robot from a file, and for one that stands still: other furniture may
    be near enough.
    """
    base = scene.robot.base
    own = scene.robot.file is None and base.lower != base.upper
    report = file.fault if own else file.warn
    low, high = np.array(base.lower[:2]), np.array(base.upper[:2])
    for name in sorted({b.target for b in scene.bindings if b.kind == "furniture"}):
        stance = scene.stance(name)
        if (stance.upper[:2] < low).any() or (stance.lower[:2] > high).any():
            what = f"lies outside the base's limits, x from {low[0]:g} to {high[0]:g} and"
            report(("stances", name), f"{what} y from {low[1]:g} to {high[1]:g}")


def _check_bound_once(file: YamlFile, bindings: tuple[Binding, ...]) -> None:
    """Checks that no two PDDL objects stand for the same item or hand."""
    bound: dict[str, str] = {}
    for binding in bindings:
        if binding.kind == "furniture":
            continue
        other = bound.setdefault(binding.target, binding.object)
        if other != binding.object:
            what = f"is '{binding.target}', to which '{other}' is bound already"
            file.fault(("objects", binding.object), what)
