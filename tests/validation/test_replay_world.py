"""The replay world agrees with the worlds of planning and execution in random states.

The two are built apart: single bodies of primitive shapes here, URDF and joints there.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from galley.domain.frames import from_pose7, to_pose7
from galley.domain.scene.reader import load_scene
from galley.domain.state import initial_state
from galley.robots.panda.mobile import hand_pose
from galley.validation import poses
from galley.validation.replay_world import ReplayWorld

RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def world(kitchen):
    with ReplayWorld(kitchen) as found:
        yield found


def random_scene_q(scene, rng):
    return np.array([rng.uniform(j.lower, j.upper) for j in scene.joints])


def random_poses(count, rng):
    p = rng.uniform((-0.4, -1.2, 0.2), (1.0, 1.6, 1.8), (count, 3))
    return np.concatenate([p, Rotation.random(count, random_state=rng).as_quat()], axis=1)


def test_furniture_is_where_the_scene_says_it_is(kitchen, small_scene):
    for scene in (kitchen, small_scene):
        values = np.array([random_scene_q(scene, RNG) for _ in range(20)])
        found = poses.furniture_poses(scene, values)
        assert set(found) == {body.name for body in scene.bodies}
        for name, X_WB in found.items():
            assert len(X_WB) == (20 if scene.carried(name) else 1)
            for k, value in enumerate(values):
                expected = scene.body_pose(name, value)
                actual = from_pose7(X_WB[min(k, len(X_WB) - 1)])
                np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_poses_compose_as_rotations_of_scipy_do():
    a, b = random_poses(50, RNG), random_poses(50, RNG)
    X_A, X_B = (np.array([from_pose7(x) for x in values]) for values in (a, b))
    np.testing.assert_allclose([from_pose7(x) for x in poses.compose(a, b)], X_A @ X_B, atol=1e-12)
    np.testing.assert_allclose(
        [from_pose7(x) for x in poses.relative(a, b)], np.linalg.inv(X_A) @ X_B, atol=1e-12
    )
    turn = (Rotation.from_quat(a[:, 3:]).inv() * Rotation.from_quat(b[:, 3:])).magnitude()
    np.testing.assert_allclose(poses.rotation_angle(a[:, 3:], b[:, 3:]), turn, atol=1e-7)


def test_the_hand_is_where_the_robots_own_kinematics_put_it(world, kitchen, robot):
    for _ in range(50):
        q = RNG.uniform(*robot.limits)
        world.set_state(q, {}, np.array([to_pose7(item.X_WI) for item in kitchen.items]))
        np.testing.assert_allclose(
            from_pose7(world.hand_pose()), hand_pose(q, kitchen.robot.base), atol=1e-6
        )


def penetrations(world):
    """Exact depths of all pairs that the world thinks may be in each other."""
    found = {
        pair: world.penetration_depth(a, b) for pair, (_, a, b) in world.penetrations().items()
    }
    return {pair: depth for pair, depth in found.items() if depth > 1e-4}


@pytest.mark.parametrize("near", [False, True], ids=["anywhere", "at the furniture"])
def test_both_worlds_see_the_same_pairs_in_each_other(world, kitchen, robot, shared_world, near):
    """In random states, one after another: contacts of the state before must not linger."""
    seen, together = set(), 0
    for _ in range(150):
        q, scene_q = RNG.uniform(*robot.limits), random_scene_q(kitchen, RNG)
        if near:
            q[:3] = RNG.uniform((0.2, -1.2, -3.0), (1.0, 1.6, 3.0))
        items = random_poses(len(kitchen.items), RNG)
        furniture = {n: X[-1] for n, X in poses.furniture_poses(kitchen, scene_q[None]).items()}
        world.set_state(q, furniture, items)
        shared_world.set_state(initial_state(kitchen))
        shared_world.set_scene(scene_q)
        shared_world.set_robot(q)
        for k, pose in enumerate(items):
            shared_world.set_item(k, from_pose7(pose))
        theirs = {p: -d for p, d in shared_world.near_pairs(0.0).items() if -d > 1e-4}
        mine = penetrations(world)
        seen |= set(mine)
        # Bullet's depths of hulls depend on the order of the two by a millimetre at times.
        for pair in set(mine) ^ set(theirs):
            assert max(mine.get(pair, 0.0), theirs.get(pair, 0.0)) < 2e-3, pair
        for pair in set(mine) & set(theirs):
            together += abs(mine[pair] - theirs[pair]) < 1e-3
    kinds = {frozenset(_kind(kitchen, name) for name in pair) for pair in seen}
    assert {frozenset(k) for k in (["robot"], ["robot", "furniture"])} <= kinds
    assert together > 100


def _kind(scene, name):
    if name in {b.name for b in scene.bodies}:
        return "furniture"
    return "item" if name in scene.item_index else "robot"


def test_furniture_is_never_checked_against_itself(world, kitchen, robot):
    q = kitchen.robot.q
    far = np.array([[3.0, k, 1.0, 0, 0, 0, 1] for k in range(len(kitchen.items))], dtype=float)
    for value in (0.0, 0.2, 0.4):
        scene_q = np.full(len(kitchen.joints), value)
        furniture = poses.furniture_poses(kitchen, scene_q[None])
        world.set_state(q, {n: X[-1] for n, X in furniture.items()}, far)
        assert world.penetrations() == {}


def test_bodies_of_more_shapes_than_pybullet_takes_in_one_are_whole(small_text, scene_of):
    """17 posts in a row, and a block in the last one of them."""
    posts = "\n".join(
        f"      - {{extents: [[0, 0.05], [{0.1 * k:.2f}, {0.1 * k + 0.05:.2f}], [0, 0.5]]}}"
        for k in range(17)
    )
    text = small_text.replace("joints:\n", f"  fence:\n    shapes:\n{posts}\njoints:\n", 1)
    scene = scene_of(text)
    with ReplayWorld(scene) as world:
        X_WI = np.array([[0.025, 1.625, 0.3, 0, 0, 0, 1]])
        furniture = poses.furniture_poses(scene, np.zeros((1, len(scene.joints))))
        world.set_state(scene.robot.q, {n: X[0] for n, X in furniture.items()}, X_WI)
        assert ("block", "fence") in penetrations(world)


def test_cylinders_spheres_and_meshes_are_as_large_as_they_say(small_text, tmp_path):
    """A ball, a can and a pyramid, each 1 mm above and then 1 mm in the top of the cabinet.

    In a folder whose name is not ASCII: where PyBullet is given such a name it may crash.
    """
    tmp_path = tmp_path / "küche"
    tmp_path.mkdir()
    (tmp_path / "pyramid.obj").write_text(
        "v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nv 0 0 1\n"
        "f 1 3 2\nf 1 4 3\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n"
    )
    shapes = {
        "ball": ("{sphere: 0.04}", 0.04),
        "can": ("{cylinder: [0.03, 0.12]}", 0.06),
        "pyramid": ("{mesh: pyramid.obj, scale: 0.05, xyz: [0, 0, -0.025]}", 0.025),
    }
    entries = "".join(
        f"  {name}:\n    mass: 0.2\n    size: [0.1, 0.1, {2 * half}]\n    shapes:\n"
        f"      - {shape}\n    pose: {{on: top, xy: [{-0.2 + 0.15 * k:.2f}, 0.2], yaw: 0.0}}\n"
        for k, (name, (shape, half)) in enumerate(shapes.items())
    )
    file = tmp_path / "shapes.yaml"
    file.write_text(small_text.replace("items:\n", f"items:\n{entries}", 1))
    scene = load_scene(file)
    margin = 1e-5  # Bullet would grow a mesh by a millimetre, which is no contact
    with ReplayWorld(scene) as world:
        furniture = poses.furniture_poses(scene, np.zeros((1, len(scene.joints))))
        placed = {n: X[0] for n, X in furniture.items()}
        items = np.array([to_pose7(item.X_WI) for item in scene.items])
        for name, (_, half) in shapes.items():
            k = scene.item_index[name]
            items[k, 2] = 0.84 + half + 0.003
            world.set_state(scene.robot.q, placed, items)
            nearest = min(near.distance for near in world.closest_points(name, "cabinet", 0.01))
            assert nearest == pytest.approx(0.003, abs=margin)
            assert all(near.normal[2] > 0.9 for near in world.closest_points(name, "cabinet", 0.01))
            items[k, 2] = 0.84 + half - 0.003
            world.set_state(scene.robot.q, placed, items)
            depth = penetrations(world)[tuple(sorted((name, "cabinet")))]
            assert depth == pytest.approx(0.003, abs=margin)
            items[k, 2] = 1.5
