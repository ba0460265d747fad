"""The robot against itself, and answers that depend on the question alone."""

import itertools

import numpy as np
import pybullet as pb
import pytest

from galley.domain.frames import transform
from galley.domain.state import Placement, initial_state
from galley.tests.collision.test_collisions import DRAWER, holding_at, with_drawer


@pytest.fixture(scope="module")
def alone(robot, tmp_path_factory):
    """The robot in a client of the test's own: least distance of two links, asked for directly."""
    file = tmp_path_factory.mktemp("alone") / "robot.urdf"
    file.write_text(robot.urdf)
    client = pb.connect(pb.DIRECT)
    body = pb.loadURDF(str(file), useFixedBase=True, physicsClientId=client)
    rows = [
        pb.getJointInfo(body, k, physicsClientId=client)
        for k in range(pb.getNumJoints(body, physicsClientId=client))
    ]
    joints = {row[1].decode(): row[0] for row in rows}
    links = {row[12].decode(): row[0] for row in rows}

    def distances(q):
        for name, value in zip(robot.joints, q, strict=True):
            pb.resetJointState(body, joints[name], value, physicsClientId=client)
        found = {}
        for a, b in itertools.combinations(sorted(robot.links), 2):
            if (a, b) in robot.allowed_self_collisions:
                continue
            points = pb.getClosestPoints(
                body, body, 0.01, links[a], links[b], physicsClientId=client
            )
            if points:
                found[a, b] = min(point[8] for point in points)
        return found

    yield distances
    pb.disconnect(client)


@pytest.fixture(scope="module")
def random_configurations(robot):
    lower, upper = robot.limits
    return np.random.default_rng(5).uniform(lower, upper, (150, robot.size))


def test_self_collisions_are_those_of_all_pairs_of_links(
    robot, probe, alone, random_configurations
):
    state = initial_state(probe.scene)
    checker = probe.checker(state, margin=0.0)
    seen = set()
    for q in random_configurations:
        oracle = alone(q)
        found = {(c.a, c.b): c.distance for c in checker.contacts(q)}
        deep = {pair for pair, d in oracle.items() if d < -1e-4}
        assert deep <= set(found), q
        assert all(pair in oracle and oracle[pair] < 1e-4 for pair in found), q
        seen |= deep
    for pair in (("panda_hand", "panda_link5"), ("panda_link5", "panda_link7")):
        assert pair in seen
    assert len(seen) > 8


def test_an_answer_does_not_depend_on_what_was_asked_before(kitchen, world, random_configurations):
    """Nothing is left over: not from other states, other checkers, or whoever moved things."""
    rng = np.random.default_rng(8)
    start = initial_state(kitchen)
    inside = Placement("indigo_drawer_top", transform(None, (0.12, 1.21, 0.82)))
    states = [
        start,
        with_drawer(kitchen, start.with_item(1, inside), 0.3),
        holding_at(kitchen, (-0.1, 0.4, 1.3)),
    ]
    near = np.concatenate([random_configurations[:30], [s.q for s in states]])
    near[:, 0] = np.clip(near[:, 0], 0.5, 1.0)  # close to the furniture, so that much touches
    questions = [(s, q, moved) for s in range(3) for q in near[::3] for moved in (None, 0.1)]

    def ask(checkers, s, q, moved):
        scene_q = None
        if moved is not None:
            scene_q = np.zeros(6)
            scene_q[kitchen.joint_index[DRAWER]] = moved
        return checkers[s].contacts(q, scene_q)

    fresh = [ask([world.checker(t) for t in states], *question) for question in questions]
    assert sum(bool(answer) for answer in fresh) > 10
    checkers = [world.checker(t) for t in states]
    for k in rng.permutation(np.repeat(np.arange(len(questions)), 2)):
        match int(rng.integers(4)):
            case 0:
                world.set_item(0, transform(None, rng.normal(size=3)))
            case 1:
                world.set_scene(rng.uniform(0.0, 0.4, size=6))
            case 2:
                world.set_robot(rng.normal(size=12))
        assert ask(checkers, *questions[k]) == fresh[k]


def test_the_robot_is_judged_where_it_was_set_not_where_the_array_is_now(kitchen, world):
    q = kitchen.robot.q.copy()
    world.set_robot(q)
    before = world.near_pairs(0.0)
    q[6:9] = -0.1, 0.0, 0.0  # another pose altogether, in the caller's own array
    assert world.near_pairs(0.0) == before
