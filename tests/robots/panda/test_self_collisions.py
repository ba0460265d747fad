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
from galley.tests.collision.kernel.support import bullet

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
def distances(model):
    """Least distance (m) of each pair over random configurations, many joints on their limits."""
    rng = np.random.default_rng(0)
    lower, upper = model.limits
    pairs = [tuple(sorted(pair)) for pair in itertools.combinations(model.links, 2)]
    least = dict.fromkeys(pairs, np.inf)
    with bullet(model, {}) as engine:
        body, links, client = engine.body, engine.links, engine.client
        for _ in range(1500):
            fraction = np.clip(rng.uniform(-0.2, 1.2, model.size), 0.0, 1.0)
            engine.place(lower + fraction * (upper - lower))
            for a, b in pairs:
                near = p.getClosestPoints(
                    body, body, 0.03, links[a], links[b], physicsClientId=client
                )
                least[a, b] = min([least[a, b], *(point[8] for point in near)])
    return least


def test_the_table_is_well_formed(model):
    for table in (NEIGHBOURS, MEET_BY_DESIGN, NEVER_TOUCH):
        assert list(table) == sorted(set(table))
    for first, second in ALLOWED_SELF_COLLISIONS:
        assert first < second
        assert {first, second} <= set(model.links)
    assert len(ALLOWED_SELF_COLLISIONS) == len(NEIGHBOURS) + len(MEET_BY_DESIGN) + len(NEVER_TOUCH)
    assert model.allowed_self_collisions == ALLOWED_SELF_COLLISIONS
    assert not ALLOWED_SELF_COLLISIONS & set(MUST_BE_CHECKED)


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
    touching = {pair for pair, distance in distances.items() if distance < 0.0}
    assert len(touching - set(NEIGHBOURS)) > 15
