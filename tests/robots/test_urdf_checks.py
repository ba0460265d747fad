"""What is wrong in a URDF is said at once, by file and name; and where joints outside q stand."""

import logging
import random
import time
import xml.etree.ElementTree as ET

import numpy as np
import pybullet as p
import pytest
import trimesh

from galley.domain.frames import from_pose7
from galley.robots.urdf_arm import MotionLimits, arm_from_urdf
from galley.robots.urdf_reader import read_tree

SHAPE = '<geometry><box size="0.1 0.1 0.2"/></geometry>'
RANGE = '<limit lower="-2" upper="2" velocity="1" effort="10"/>'
AXES = ("0 0 1", "0 1 0", "1 0 0", "0 1 1")


def link(name, inside=f"<collision>{SHAPE}</collision><visual>{SHAPE}</visual>"):
    return f'<link name="{name}">{inside}</link>\n'


def joint(name, parent, child, kind="revolute", axis="0 0 1", inside=RANGE):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/><axis xyz="{axis}"/>{inside}</joint>\n'
    )


LINKS = [link(f"l{k}") for k in range(5)]
JOINTS = [joint(f"j{k + 1}", f"l{k}", f"l{k + 1}", axis=AXES[k]) for k in range(4)]
GOOD = "".join(['<robot name="arm">\n', *LINKS, *JOINTS, "</robot>"])
MIMIC = '<mimic joint="{}" multiplier="-2" offset="0.3"/>'


@pytest.fixture
def read(tmp_path):
    """``read(text, ...)``: the arm of a URDF's text, in a file of that name."""

    def arm(text, **arguments):
        (tmp_path / "arm.urdf").write_text(text)
        return arm_from_urdf(tmp_path / "arm.urdf", **arguments)

    return arm


@pytest.fixture(autouse=True)
def surroundings(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)


def faults(read, text, **arguments):
    """The message's lines, each of which names the file."""
    with pytest.raises(ValueError, match=r"arm\.urdf") as caught:
        read(text, **arguments)
    lines = str(caught.value).splitlines()
    assert all("arm.urdf: " in line for line in lines)
    return [line.split("arm.urdf: ")[1] for line in lines]


STRUCTURE = {
    "a link twice": (LINKS[2], 2 * LINKS[2], "link 'l2' is declared 2 times"),
    "a joint twice": (JOINTS[3], 2 * JOINTS[3], "joint 'j4' is declared 2 times"),
    "no name": ('<link name="l4">', "<link>", "a nameless <link>"),
    "a parent that is none": (
        'parent link="l2"',
        'parent link="l_2"',
        "'j3' needs one <parent> that is a link of this file, got ['l_2']",
    ),
    "no child": ('<child link="l3"/>', "", "joint 'j3' needs one <child>"),
    "two children": ('<child link="l3"/>', '<child link="l3"/>' * 2, "'j3' needs one <child>"),
    "an unknown type": (' name="j2" type="revolute"', ' name="j2" type="hinge"', "type 'hinge'"),
    "two parents": ("</robot>", joint("j5", "l1", "l4") + "</robot>", "the joints ['j4', 'j5']"),
    "two roots": ("</robot>", link("loose") + "</robot>", "here are ['l0', 'loose']"),
    "a loop": ("</robot>", joint("j5", "l4", "l0") + "</robot>", "carry themselves in a loop"),
    "a loop beside": (
        "</robot>",
        link("a") + link("b") + joint("x", "a", "b") + joint("y", "b", "a") + "</robot>",
        "['b', 'a'] carry themselves",
    ),
    "itself as parent": ('<parent link="l3"/>', '<parent link="l4"/>', "['l4'] carry themselves"),
}
VALUES = {
    "axis of two": ('xyz="0 1 0"', 'xyz="0 1"', "joint 'j2': <axis xyz=\"0 1\"> needs 3 numbers"),
    "zero axis": ('xyz="0 1 0"', 'xyz="0 0 0"', "joint 'j2': <axis"),
    "origin": ('rpy="0.1 0.2 0.3"/><axis xyz="1 0 0"', 'rpy="0 nan 0"/><axis xyz="1 0 0"', "'j3'"),
    "in millimetres": ('xyz="0.1 0.2 0.3"', 'xyz="0 0 333"', "joint 'j1': <origin"),
    "size": ('size="0.1 0.1 0.2"', 'size="0.1 0.1 big"', "link 'l0': <box"),
    "huge": ('size="0.1 0.1 0.2"', 'size="100 100 200"', "link 'l0': <box"),
    "no shape": (f"<collision>{SHAPE}</collision>", "<collision/>", "link 'l0': a <collision>"),
    "crossed": ('lower="-2"', 'lower="3"', "joint 'j1': its lower limit 3 is above"),
    "no range": ('lower="-2"', 'lower="2"', "joint 'j1': its limits 2.0 to 2.0 leave"),
    "unbounded": ('lower="-2"', 'lower="-1e16"', "joint 'j1': its limits -1e+16 to 2 are too"),
    "infinite": ('upper="2"', 'upper="inf"', "joint 'j1': its limits -2 to inf are too large"),
    "limits missing": (RANGE, "", "joint 'j1': has no <limit"),
    "not a number": ('upper="2"', 'upper="nan"', "joint 'j1': <limit upper"),
    "stands still": ('velocity="1"', 'velocity="0"', "joint 'j1': its velocity limit 0 is invalid"),
    "any speed": ('velocity="1"', 'velocity="inf"', "joint 'j1': its velocity limit inf"),
    "any effort": ('effort="10"', 'effort="inf"', "joint 'j1': its effort limit inf"),
    "floating": ('name="j2" type="revolute"', 'name="j2" type="floating"', "'j2' is floating and"),
    "mimics none": (RANGE, RANGE + MIMIC.format("j9"), "joint 'j1' mimics 'j9', which is no"),
    "mimics itself": (RANGE, RANGE + MIMIC.format("j1"), "the joints ['j1'] mimic themselves"),
}


@pytest.mark.parametrize("name", [*STRUCTURE, *VALUES])
def test_a_fault_is_said_by_file_and_name(name, read):
    old, new, message = {**STRUCTURE, **VALUES}[name]
    assert old in GOOD
    found = faults(read, GOOD.replace(old, new, 1))
    assert any(message in line for line in found), found


def test_all_faults_are_said_at_once(read):
    text = GOOD
    for name in ("a link twice", "two roots", "size", "zero axis", "origin"):
        old, new, _ = {**STRUCTURE, **VALUES}[name]
        text = text.replace(old, new, 1)
    assert len(faults(read, text)) == 5
    text = GOOD.replace('velocity="1"', 'velocity="0"').replace('upper="2"', 'upper="1e9"')
    assert len(faults(read, text)) == 8
    assert len(faults(read, text, limits=MotionLimits(velocity=[3.0] * 4))) == 4


def test_a_mimic_of_a_joint_in_q_is_refused_unless_it_is_in_q_itself(read):
    text = GOOD.replace(JOINTS[2], JOINTS[2].replace(RANGE, RANGE + MIMIC.format("j2")))
    assert ["joint 'j3' mimics 'j2', which is in q" in line for line in faults(read, text)] == [
        True
    ]
    assert read(text, joints=["j1", "j2", "j3", "j4"]).joints == ("j1", "j2", "j3", "j4")


def test_joints_outside_q_stand_within_their_range_or_where_they_mimic(read, tmp_path):
    """PyBullet has the file as it is, its joints at the values worked out by hand."""
    low = '<limit lower="0.4" upper="2" velocity="1" effort="10"/>'
    side = joint("s", "l1", "l5", "prismatic", "0 0.6 0.8", low + MIMIC.format("j3"))
    text = GOOD.replace(JOINTS[1], JOINTS[1].replace(RANGE, low))
    text = text.replace(JOINTS[2], JOINTS[2].replace(RANGE, RANGE + MIMIC.format("j2")))
    text = text.replace("</robot>", link("l5") + side + "</robot>")
    robot = read(text, joints=["j1", "j4"], tool_link="l4")
    values = {"j1": 0.7, "j2": 0.4, "j3": -2 * 0.4 + 0.3, "j4": -0.6, "s": -2 * -0.5 + 0.3}
    tree, client = read_tree(robot.urdf, robot.joints), p.connect(p.DIRECT)
    body = p.loadURDF(str(tmp_path / "arm.urdf"), useFixedBase=True, physicsClientId=client)
    infos = [p.getJointInfo(body, k, physicsClientId=client) for k in range(len(values))]
    for info in infos:
        p.resetJointState(body, info[0], values[info[1].decode()], physicsClientId=client)
    for info in infos:
        found = p.getLinkState(body, info[0], computeForwardKinematics=True, physicsClientId=client)
        ours = tree.link_pose(info[12].decode(), np.array([0.7, -0.6]))
        assert np.abs(ours - from_pose7(np.array([*found[4], *found[5]]))).max() < 1e-5
    p.disconnect(client)


def test_a_link_that_is_drawn_without_collision_shape_is_warned_of(read, caplog):
    bare = link("l2", f"<visual>{SHAPE}</visual>")
    with caplog.at_level(logging.WARNING):
        read(GOOD.replace(LINKS[2], bare))
    assert "never checked: ['l2']" in caplog.text
    text = GOOD
    for k in range(1, 5):
        text = text.replace(LINKS[k], bare.replace("l2", f"l{k}"))
    (line,) = faults(read, text)
    assert "no link that moves" in line


def test_a_mesh_in_millimetres_is_refused_within_seconds(read, tmp_path):
    trimesh.creation.box([200.0, 60.0, 240.0]).export(tmp_path / "mm.stl")

    def scaled(by):
        mesh = f'<mesh filename="mm.stl" scale="{by} {by} {by}"/>'
        return GOOD.replace(LINKS[4], link("l4").replace(SHAPE, f"<geometry>{mesh}</geometry>"))

    for by, size in ((1, "200 x 60 x 240"), (1e-7, "e-05")):
        began = time.perf_counter()
        (line,) = faults(read, scaled(by))
        assert time.perf_counter() - began < 5.0
        assert line.startswith("link 'l4' is ")
        assert size in line
        assert "millimetres" in line
    assert read(scaled(1e-3)).links == ("l0", "l1", "l2", "l3", "l4")


def test_a_package_is_found_by_its_name_and_never_guessed(read, tmp_path, monkeypatch):
    text = GOOD.replace(SHAPE, '<geometry><mesh filename="package://arm/a.stl"/></geometry>')
    trimesh.creation.box([0.1, 0.1, 0.1]).export(tmp_path / "a.stl")  # of another package
    with pytest.raises(
        FileNotFoundError, match=r"link 'l3': .*ROS_PACKAGE_PATH \(not set\)"
    ) as caught:
        read(text)
    assert str(tmp_path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 5  # one for each link
    (tmp_path / "package.xml").write_text("<package><name>arm</name></package>")
    assert "a-" in read(text).urdf  # the copy of a.stl
    for variable, folder in (("AMENT_PREFIX_PATH", "share"), ("ROS_PACKAGE_PATH", "src")):
        (tmp_path / "ws" / folder / "arm").mkdir(parents=True)
        trimesh.creation.box([0.2, 0.2, 0.2]).export(tmp_path / "ws" / folder / "arm" / "b.stl")
        monkeypatch.setenv(variable, str(tmp_path / "ws"))
        assert "b-" in read(text.replace("a.stl", "b.stl")).urdf
        monkeypatch.delenv(variable)


def mutated(seed):
    """The good text with a few changes anywhere."""
    rng, root = random.Random(seed), ET.fromstring(GOOD)
    words = ("", "nan", "-1", "1e400", "l1", "j2", "0 0 0", "fixed", "continuous", "floating", "ä'")
    for _ in range(rng.randint(1, 3)):
        parent = rng.choice([e for e in root.iter() if len(e)])
        child, change = rng.choice(list(parent)), rng.randint(0, 5)
        if change == 0:
            parent.remove(child)
        elif change == 1:  # declared again, perhaps elsewhere
            rng.choice([root, parent, *root]).append(child)
        elif child.attrib:
            key = rng.choice(list(child.attrib))
            child.set(key if change < 5 else "x", rng.choice(words))
            if change == 5:
                del child.attrib[key]
    return ET.tostring(root, encoding="unicode")


@pytest.mark.parametrize("seed", range(40))
def test_a_mutated_urdf_makes_an_arm_or_is_refused_by_name(seed, read):
    text, began, said = mutated(seed), time.perf_counter(), "arm.urdf"
    try:
        read(text, tool_link="l4")
    except (ValueError, FileNotFoundError) as error:
        said = str(error)
    assert "arm.urdf" in said
    assert time.perf_counter() - began < 5.0
