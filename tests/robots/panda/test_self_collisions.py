"""The table of pairs that are never checked: well formed, and safe on random configurations."""

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pybullet as p
import pytest

from galley.robots.panda.description import (
    ALLOWED_SELF_COLLISIONS,
    MEET_BY_DESIGN,
    NEIGHBOURS,
    NEVER_TOUCH,
)
from galley.robots.panda.models import mobile_panda

# Seen to touch, and far from every joint that could excuse it.
MUST_BE_CHECKED = (
    ("panda_hand", "panda_link5"),
    ("panda_link5", "panda_link7"),
    ("panda_leftfinger", "panda_link5"),
    ("panda_link5", "panda_rightfinger"),
    ("panda_link0", "panda_link5"),
    ("panda_hand", "panda_link0"),
    ("chassis", "panda_hand"),
    ("column", "panda_hand"),
    ("column", "panda_link5"),
)


@pytest.fixture(scope="module")
def model():
    return mobile_panda()


@pytest.fixture(scope="module")
def distances(model, tmp_path_factory):
    """Least distance (m) of each pair over random configurations, many joints on their limits."""
    file = tmp_path_factory.mktemp("urdf") / "robot.urdf"
    file.write_text(model.urdf)
    client = p.connect(p.DIRECT)
    body = p.loadURDF(str(file), useFixedBase=True, physicsClientId=client)
    rows = [
        p.getJointInfo(body, k, physicsClientId=client)
        for k in range(p.getNumJoints(body, physicsClientId=client))
    ]
    joint = {row[1].decode(): row for row in rows}
    link = {row[12].decode(): row[0] for row in rows}
    rng = np.random.default_rng(0)
    pairs = [tuple(sorted(pair)) for pair in itertools.combinations(model.links, 2)]
    least = dict.fromkeys(pairs, np.inf)
    for _ in range(1500):
        for name in model.joints:
            index, lower, upper = joint[name][0], *joint[name][8:10]
            fraction = np.clip(rng.uniform(-0.2, 1.2), 0.0, 1.0)
            value = lower + fraction * (upper - lower)
            p.resetJointState(body, index, value, physicsClientId=client)
        for a, b in pairs:
            points = p.getClosestPoints(body, body, 0.03, link[a], link[b], physicsClientId=client)
            least[a, b] = min([least[a, b], *(point[8] for point in points)])
    p.disconnect(client)
    return least


def test_the_table_is_well_formed(model):
    for table in (NEIGHBOURS, MEET_BY_DESIGN, NEVER_TOUCH):
        assert list(table) == sorted(set(table))
    for first, second in ALLOWED_SELF_COLLISIONS:
        assert first < second
        assert {first, second} <= set(model.links)
    assert len(ALLOWED_SELF_COLLISIONS) == len(NEIGHBOURS) + len(MEET_BY_DESIGN) + len(NEVER_TOUCH)
    assert model.allowed_self_collisions == ALLOWED_SELF_COLLISIONS


def test_neighbours_are_joined_by_one_joint_in_the_urdf(model):
    joined = set()
    root = ET.fromstring(model.urdf)
    parent = {
        joint.find("child").get("link"): joint.find("parent").get("link")
        for joint in root.iter("joint")
    }
    for child in model.links:
        link = parent.get(child)
        while link is not None and link not in model.links:  # over links without shapes (link8)
            link = parent.get(link)
        if link is not None:
            joined.add(tuple(sorted((child, link))))
    assert set(NEIGHBOURS) == joined


def test_pairs_that_are_said_never_to_touch_stay_apart(distances):
    for pair in NEVER_TOUCH:
        assert distances[pair] > 0.01, pair


def test_whatever_touches_is_checked(distances):
    touching = {pair for pair, distance in distances.items() if distance < 0.0}
    assert touching - set(NEIGHBOURS) - set(MEET_BY_DESIGN) <= (
        set(distances) - ALLOWED_SELF_COLLISIONS
    )
    assert len(touching - set(NEIGHBOURS)) > 15


@pytest.mark.parametrize("pair", MUST_BE_CHECKED)
def test_pairs_that_can_collide_are_checked(pair):
    assert pair not in ALLOWED_SELF_COLLISIONS
