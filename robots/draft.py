"""Drafts a robot file from a URDF: finds the arm and its gripper, and guesses the rest."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from itertools import combinations, product
from os.path import commonprefix
from pathlib import Path

import numpy as np

from galley.domain.errors import did_you_mean
from galley.domain.scene.robot_file import GripperSpec, RobotFile
from galley.robots.gripper import MeasuredGripper, find_gripper
from galley.robots.urdf_arm import DEFAULT_VELOCITY
from galley.robots.urdf_checks import leaders, read_urdf
from galley.robots.urdf_prepare import prepare
from galley.robots.urdf_reader import MOVABLE, joined_link, limit_of, naming, ways

_LONGEST = 3  # joints in a row that a finger may have: a longer branch is an arm
_MOST_LEADERS = 3  # finger joints of which both directions are tried


@dataclass(frozen=True)
class Draft:
    """The draft of a robot file, and facts for the comments in it.

    Attributes:
        file: the robot file. All joints of the arm are at zero; velocities are stated if the URDF
            has one of zero.
        tip: the link that the arm's last joint moves, or that the caller named.
        hand: the link that carries the fingers; empty if no finger moves.
        leaders: for each finger joint that mimics another, the name of that one.
        found: grasp frame and measures of the gripper; None if no two links move apart steadily.
        why: the reason in that case, for the first two links that were tried.
    """

    file: RobotFile
    tip: str
    hand: str
    leaders: dict[str, str]
    found: MeasuredGripper | None
    why: str


def draft_of(
    path: Path | str, urdf: str, source: Path | str, start: str = "", end: str = ""
) -> Draft:
    """The draft for a URDF: the arm is the chain up to where it branches, fingers are behind it.

    Finger links are the pair that moves apart steadily and has the widest pads; of several such,
    the one with the grasp centre farthest from the hand. Closed and open are the limits of the
    joints that mimic none, in the order in which those links move apart.

    1. Read the URDF, and find the arm's joints, its tip, and the finger joints behind it.
    2. Try both directions of each finger joint that leads, with each pair of links at the ends.
    3. If only one link moves, try it against the hand as a still jaw.

    Args:
        path: of the URDF.
        urdf: the URDF's name in the robot file.
        source: path of the robot file.
        start, end: links between which the arm is; default: from the root to the branches.

    Raises:
        BadInput: the URDF can't be read.
        FileNotFoundError: the URDF, or a mesh, does not exist.
        ValueError: the URDF has faults, or there is no arm between these links.
    """
    path = Path(path)
    root = read_urdf(path)
    table = {str(e.get("name")): e for e in root.findall("joint")}
    moving = {  # the joints that move each link, from the root on
        link: [str(e.get("name")) for e in way if e.get("type") in MOVABLE]
        for link, way in ways(root).items()
    }
    with naming(path):
        for link in filter(None, (start, end)):
            if link not in moving:
                raise ValueError(f"no link '{link}'{did_you_mean(link, [*moving])}")
        first = moving.get(start, [])
        ends = [w for w in moving.values() if w[: len(first)] == first and not _further(w, moving)]
        whole = moving[end] if end else commonprefix(ends)  # noqa: RUF071 - of lists
        arm, n = whole[len(first) :], len(whole)
        tails = [w[n:] for w in moving.values() if w[:n] == whole]
        if not arm or whole[: len(first)] != first or len(max(tails, key=len)) > _LONGEST:
            last = sorted({joined_link(table[w[-1]], "child") for w in ends if w})
            what = f"no single arm; chains end at {last or 'no link'}"
            raise ValueError(f"{what}: name the link that carries the gripper by --to LINK")
    tip = end or joined_link(table[arm[-1]], "child")
    joints = [*dict.fromkeys(name for tail in tails for name in tail)]
    hand = joined_link(table[joints[0]], "parent") if joints else ""
    led = {name: chain[-1][0] for name in joints if (chain := leaders(table, name))}
    shaped = {str(e.get("name")) for e in root.findall("link") if e.find("collision") is not None}
    solid = {link: moving[link] for link in moving if link in shaped and moving[link][:n] == whole}
    tips = [link for link, way in solid.items() if len(way) > n and not _further(way, solid)]
    free = [name for name in joints if name not in led][:_MOST_LEADERS]
    turned = [dict(zip(free, flips, strict=True)) for flips in product((1, -1), repeat=len(free))]
    choices = [{name: _ends(table, name, flips) for name in joints} for flips in turned]
    prepare(root, path, {*arm, *joints})
    text, why = ET.tostring(root, encoding="unicode"), ""
    best: tuple[tuple[float, float], MeasuredGripper | None] = (0.0, 0.0), None
    ends_of, fingers = choices[0], ("", "")
    for chosen, pair in product(choices, combinations(tips, 2)):
        try:
            found = find_gripper(text, chosen, hand, pair)
        except ValueError as error:
            why = why or str(error)
            continue
        score = round(found.gripper.pad, 3), float(found.X_RT[:3, 2] @ found.X_RT[:3, 3])
        if score > best[0]:
            best, ends_of, fingers = (score, found), chosen, pair
    if len(tips) == 1:  # against a jaw that stands still
        fingers = hand, tips[0]
        try:
            find_gripper(text, ends_of, hand, fingers)
        except ValueError as error:
            why = str(error)
    spec = GripperSpec(tuple((name, *both) for name, both in ends_of.items()), fingers)
    name = str(root.get("name") or path.stem)
    file = RobotFile(str(source), name, urdf, tuple(arm), (0.0,) * len(arm), spec)
    speeds = [limit_of(table[joint], "velocity", 1.0) for joint in arm]
    if min(speeds) <= 0.0:  # not usable, so state defaults in the robot file
        units = ["m" if table[joint].get("type") == "prismatic" else "rad" for joint in arm]
        defaults = (DEFAULT_VELOCITY[unit] for unit in units)
        stated = tuple(v if v > 0.0 else d for v, d in zip(speeds, defaults, strict=True))
        file = replace(file, limits=(("velocity", stated),))
    return Draft(
        file, tip, hand, led, best[1], why or "fewer than two links with collision shapes move"
    )


def _further(way: list[str], ways: dict[str, list[str]]) -> bool:
    """Whether one of the ways (joints from the root to a link) continues this one."""
    return any(len(w) > len(way) and w[: len(way)] == way for w in ways.values())


def _ends(table: dict[str, ET.Element], joint: str, flips: dict[str, int]) -> tuple[float, float]:
    """The values of a finger joint, closed and open: the limits of the joint that it follows.

    Args:
        table: <joint> elements by name.
        joint: name of the finger joint.
        flips: -1 for a leading joint that is closed at its upper limit, 1 for others.
    """
    led = leaders(table, joint)
    first = led[-1][0] if led else joint
    values = np.array(_limits(table[first]))[:: flips.get(first, 1)]
    for _, mimic in reversed(led):
        values = float(mimic.get("multiplier", 1.0)) * values + float(mimic.get("offset", 0.0))
    low, high = _limits(table[joint])
    values = np.clip(values, low, high) if low < high else values
    return float(values[0]), float(values[1])


def _limits(joint: ET.Element) -> tuple[float, float]:
    """Lower and upper limit of a <joint>; 0 for a missing one."""
    return limit_of(joint, "lower"), limit_of(joint, "upper")
