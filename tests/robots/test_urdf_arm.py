"""Arms from URDF files: kinematics as the engines have them, limits, meshes, what is refused."""

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pybullet_data
import pytest
import trimesh

from galley.domain.frames import rotation_rpy, transform
from galley.domain.meshes import mesh_points
from galley.motion import CollisionWorld, plan
from galley.robots.iiwa import iiwa
from galley.robots.model import ENDLESS
from galley.robots.panda.description import panda_arm
from galley.robots.urdf_arm import MotionLimits, arm_from_urdf
from galley.robots.urdf_reader import link_shapes, read_tree
from galley.tests.collision.kernel.support import DrakeOracle, bullet

KUKA = Path(pybullet_data.getDataPath()) / "kuka_iiwa" / "model.urdf"

TWO_JOINTS = """<robot name="small">
<link name="foot"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<link name="upper"><collision><geometry><cylinder radius="0.02" length="0.3"/></geometry>
</collision></link>
<link name="slide"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>
<link name="tip"/>
<joint name="turn" type="continuous"><parent link="foot"/><child link="upper"/>
<origin xyz="0 0 0.2"/><axis xyz="0 0 2"/></joint>
<joint name="push" type="prismatic"><parent link="upper"/><child link="slide"/>
<origin xyz="0.3 0 0" rpy="0 0 0.5"/><axis xyz="1 0 0"/>
<limit lower="-0.1" upper="0.2" velocity="0.5" effort="1"/></joint>
<joint name="end" type="fixed"><parent link="slide"/><child link="tip"/>
<origin xyz="0 0 0.1"/></joint>
</robot>"""


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.urdf"
    path.write_text(TWO_JOINTS)
    return path


def tool_poses(engine, robot, configurations):
    return np.array([engine.link_pose(robot.tool_link, q) @ robot.X_LT for q in configurations])


def test_both_engines_put_the_tool_where_the_tree_does(small):
    X_WB = transform(rotation_rpy(0.1, -0.4, 2.0), (0.3, -0.2, 0.5))
    robot = arm_from_urdf(small, X_WB=X_WB, X_LT=transform(translation=(0, 0.1, 0)))
    lower, upper = robot.limits
    configurations = np.random.default_rng(0).uniform(lower, upper, (20, robot.size))
    tree = read_tree(robot.urdf, robot.joints)
    ours = np.array([tree.link_pose(robot.tool_link, q) @ robot.X_LT for q in configurations])
    with bullet(robot, {}) as engine:
        assert np.abs(ours - tool_poses(engine, robot, configurations)).max() < 1e-6
    drakes = tool_poses(DrakeOracle(robot, {}), robot, configurations)
    assert np.abs(ours - drakes).max() < 1e-9


def test_the_iiwa_has_its_real_limits():
    robot = iiwa()
    assert robot.size == 7
    arm = robot.group("arm")
    degrees = [170, 120, 170, 120, 170, 120, 175]  # KUKA's data sheet
    assert np.degrees(arm.upper) == pytest.approx(degrees, abs=0.01)
    assert np.degrees(arm.lower) == pytest.approx(np.negative(degrees), abs=0.01)
    assert np.degrees(arm.velocity) == pytest.approx([98, 98, 100, 130, 140, 180, 180])
    assert robot.links == tuple(f"lbr_iiwa_link_{k}" for k in range(8))


def test_neighbours_are_not_checked_and_distant_links_are():
    allowed = iiwa().allowed_self_collisions
    for k in range(7):
        assert (f"lbr_iiwa_link_{k}", f"lbr_iiwa_link_{k + 1}") in allowed
    assert ("lbr_iiwa_link_0", "lbr_iiwa_link_6") not in allowed
    assert ("lbr_iiwa_link_1", "lbr_iiwa_link_7") not in allowed
    assert all(a < b for a, b in allowed)


def test_links_that_always_overlap_are_not_checked(tmp_path):
    # foot, a small shapeless carrier, and a body that always surrounds the foot's middle.
    text = TWO_JOINTS.replace(
        '<cylinder radius="0.02" length="0.3"/>', '<sphere radius="0.001"/>'
    ).replace('<sphere radius="0.02"/>', '<box size="2 2 2"/>')
    path = tmp_path / "a.urdf"
    path.write_text(text)
    assert ("foot", "slide") in arm_from_urdf(path).allowed_self_collisions
    path.write_text(TWO_JOINTS)
    assert ("foot", "slide") not in arm_from_urdf(path).allowed_self_collisions


def test_pairs_that_the_user_allows_are_added_to_the_default_ones(small):
    default = arm_from_urdf(small).allowed_self_collisions
    assert ("foot", "upper") in default
    more = arm_from_urdf(small, allowed_self_collisions=[("slide", "foot")]).allowed_self_collisions
    assert more == default | {("foot", "slide")}


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("foot", "slid"), "no link 'slid'.*slide"),
        (("foot", "foot"), "no pair of two links"),
        ("foot", "'foot' is no pair"),
    ],
)
def test_pairs_that_name_no_two_links_are_refused(pair, message, small):
    with pytest.raises(ValueError, match=message):
        arm_from_urdf(small, allowed_self_collisions=[pair])


@pytest.mark.parametrize("shape", ["", '<sphere radius="0.01"/>'])
def test_a_root_link_called_world_stands_where_it_is_put(shape, small):
    """As in URDFs that ROS writes; to Drake ``world`` is the world itself."""
    q, X_WB = np.array([0.4, 0.1]), transform(rotation_rpy(0.1, -0.4, 2.0), (0.3, -0.2, 0.5))
    plain = arm_from_urdf(small)
    X_FT = read_tree(plain.urdf, plain.joints).link_pose("tip", q)
    solid = f"<collision><geometry>{shape}</geometry></collision>" if shape else ""
    small.write_text(
        TWO_JOINTS.replace(
            "</robot>",
            f"<link name='world'>{solid}</link><joint name='world_mount' type='fixed'>"
            "<parent link='world'/><child link='foot'/><origin xyz='0 0.5 0'/></joint></robot>",
        )
    )
    robot = arm_from_urdf(small, X_WB=X_WB)
    X_WT = X_WB @ transform(translation=(0, 0.5, 0)) @ X_FT
    tree = read_tree(robot.urdf, robot.joints)
    assert np.abs(tree.link_pose("tip", q) - X_WT).max() < 1e-12
    with bullet(robot, {}) as engine:
        assert np.abs(tool_poses(engine, robot, [q])[0] - X_WT).max() < 1e-6
    world = CollisionWorld(robot, {})
    path = plan(world, np.array([0.0, 0.0]), X_WT)
    assert path.waypoints[-1] == pytest.approx(q, abs=1e-6)


def test_defaults_stand_in_for_limits_that_a_urdf_lacks(small):
    arm = arm_from_urdf(small).group("arm")
    assert arm.joints == ("turn", "push")
    assert arm.units == ("rad", "m")
    assert arm.lower.tolist() == [-ENDLESS, -0.1]
    assert arm.upper.tolist() == [ENDLESS, 0.2]
    assert [limit.tolist() for limit in arm.turn] == [[-np.pi, -0.1], [np.pi, 0.2]]
    assert arm.velocity.tolist() == [1.0, 0.5]
    assert (arm.acceleration > 0).all()
    assert (arm.jerk > 0).all()
    limits = MotionLimits(velocity=[2, 3], acceleration=[4, 5], jerk=[6, 7])
    given = arm_from_urdf(small, limits=limits).group("arm")
    assert [given.velocity[0], given.acceleration[1], given.jerk[0]] == [2.0, 5.0, 6.0]


def test_joints_that_are_left_out_stay_at_zero(small):
    robot = arm_from_urdf(small, joints=["push"])
    assert robot.joints == ("push",)
    with bullet(robot, {}) as engine:
        (pose,) = tool_poses(engine, robot, [[0.1]])
    assert pose[:3, 3] == pytest.approx([0.3 + 0.1 * np.cos(0.5), 0.1 * np.sin(0.5), 0.2])
    assert arm_from_urdf(small).tool_link == "tip"
    assert arm_from_urdf(small, tool_link="upper").joints == ("turn",)


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ("", {"joints": ["elbow"]}, "no joints \\['elbow'\\], there are"),
        ("", {"tool_link": "hand"}, "no link 'hand', there are"),
        ("", {"tool_link": "foot"}, "do not move 'foot'"),
        ("", {"limits": MotionLimits(jerk=[1.0, -1.0])}, "jerk: needs 2 positive limits"),
        ('lower="-0.1"|lower="0.2"', {}, "joint 'push': its limits 0.2 to 0.2"),
        ('<sphere radius="0.02"/>|<capsule/>', {}, "link 'slide': .*capsule"),
        ('<sphere radius="0.02"/>|<sphere radius="big"/>', {}, "link 'slide': .*needs 1 numbers"),
        ('radius="0.02"/>|radius="-0.02"/>', {}, "link 'slide': .*sizes must be positive"),
        ("</robot>|<link name='spare'/></robot>", {}, "branches|one root link"),
        ("</robot>|", {}, "not XML"),
        ('<robot name="small">|<sdf>,</robot>|</sdf>', {}, "a URDF's root is <robot>"),
    ],
)
def test_a_urdf_that_makes_no_arm_is_refused(change, arguments, message, tmp_path):
    text = TWO_JOINTS
    for each in change.split(",") if change else []:
        text = text.replace(*each.split("|"))
    path = tmp_path / "bad.urdf"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        arm_from_urdf(path, **arguments)


@pytest.mark.parametrize(
    "written", ["parts/link_7.stl", "package://parts/link_7.stl", "file://ABSOLUTE", "ABSOLUTE"]
)
def test_meshes_are_found_and_loaded_wherever_they_are_named(written, tmp_path):
    (tmp_path / "robot" / "parts").mkdir(parents=True)
    mesh = tmp_path / "robot" / "parts" / "link_7.stl"
    shutil.copy(KUKA.parent / "meshes" / "link_7.stl", mesh)
    path = tmp_path / "robot" / "arm.urdf"
    name = written.replace("ABSOLUTE", str(mesh))
    path.write_text(
        TWO_JOINTS.replace('<sphere radius="0.02"/>', f'<mesh filename="{name}" scale="2 1 1"/>')
    )
    shape = link_shapes(arm_from_urdf(path, convex_parts=1).urdf)[2]
    points = mesh_points(mesh) * [2.0, 1.0, 1.0]
    assert shape.size == pytest.approx(np.ptp(points, axis=0))
    assert shape.hull.distance(points).max() < 1e-9


def test_a_mesh_with_a_notch_becomes_several_collision_shapes():
    one, parts = (
        [s.link for s in link_shapes(arm_from_urdf(KUKA, convex_parts=n).urdf)] for n in (1, 3)
    )
    assert len(set(one)) == len(one) < len(parts) <= 3 * len(one)
    assert set(parts) == set(one)
    with pytest.raises(ValueError, match="convex_parts"):
        arm_from_urdf(KUKA, convex_parts=0)


def test_a_missing_mesh_is_named(small):
    small.write_text(TWO_JOINTS.replace('<sphere radius="0.02"/>', '<mesh filename="no.stl"/>'))
    with pytest.raises(FileNotFoundError, match=r"no\.stl"):
        arm_from_urdf(small)


@pytest.mark.parametrize(("name", "text"), [("a.dae", "x"), ("a.obj", "f 1 2 3"), ("a.stl", "x")])
def test_a_mesh_that_holds_no_points_is_refused(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=name):
        mesh_points(tmp_path / name)


def test_hulls_of_the_panda_are_what_another_library_makes_of_its_vertices():
    urdf = panda_arm().urdf
    files = [m.get("filename") for m in ET.fromstring(urdf).iterfind("link/collision/*/mesh")]
    shapes = link_shapes(urdf)
    assert len(files) == len(shapes) == 11
    for file, shape in zip(files, shapes, strict=True):
        theirs = trimesh.load(file.removeprefix("file://"), force="mesh").convex_hull
        assert shape.hull.distance(theirs.vertices).max() < 1e-9
        ours = trimesh.convex.convex_hull(shape.hull.vertices)
        assert ours.volume == pytest.approx(theirs.volume, rel=1e-9)
        inside = shape.hull.centre + 0.3 * (theirs.vertices[:20] - shape.hull.centre)
        _, depth, _ = trimesh.proximity.closest_point_naive(theirs, inside)
        assert -shape.hull.distance(inside) == pytest.approx(depth, abs=1e-9)
