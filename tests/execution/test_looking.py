"""Looking several times: as good as statistics say, and no more looks than are needed."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from galley.domain.frames import frozen, transform
from galley.domain.scene.model import HAND, WORLD
from galley.domain.state import Placement, State
from galley.execution.monitor import OBSERVATIONS, average_observations

X_TRUE = transform(Rotation.from_euler("z", 0.4).as_matrix(), (0.3, -0.2, 0.9))
TRUE = State(
    frozen([1.0, 0.5, 3.0, *np.linspace(-1.0, 1.0, 7), 0.02, 0.02]),
    frozen([0.1, 0.7]),
    (Placement(WORLD, frozen(X_TRUE)), Placement("drawer", frozen(np.eye(4)))),
)


class Eyes:
    """Sees a list of States, one after another; counts the looks."""

    def __init__(self, states):
        self.states, self.looks = list(states), 0

    def observe(self):
        self.looks += 1
        return self.states[min(self.looks, len(self.states)) - 1]


def noisy(rng, position, angle, yaw=0.0):
    """TRUE with the first item's place and yaw off by normal errors, and all joints."""
    X = transform(
        Rotation.from_euler("z", yaw + rng.normal(0.0, angle)).as_matrix() @ X_TRUE[:3, :3],
        X_TRUE[:3, 3] + rng.normal(0.0, position, 3),
    )
    q = TRUE.q + rng.normal(0.0, position, TRUE.q.shape)
    scene_q = TRUE.scene_q + rng.normal(0.0, position, 2)
    return State(frozen(q), frozen(scene_q), (Placement(WORLD, frozen(X)), TRUE.items[1]))


@pytest.mark.parametrize("seed", range(5))
def test_the_mean_of_several_looks_errs_less_than_one(seed):
    """Within 4 sigma / sqrt(n) of the truth in every number, and over many runs by sigma^2 / n."""
    rng, position, angle = np.random.default_rng(seed), 0.003, 0.05
    eyes = Eyes(noisy(rng, position, angle) for _ in range(OBSERVATIONS))
    seen = average_observations(eyes)
    assert eyes.looks == OBSERVATIONS
    bound = 4.0 / np.sqrt(OBSERVATIONS)
    X = seen.items[0].X_PI
    assert np.abs(X[:3, 3] - X_TRUE[:3, 3]).max() < bound * position
    off = Rotation.from_matrix(X[:3, :3] @ X_TRUE[:3, :3].T).as_rotvec()
    assert abs(off[2]) < bound * angle
    assert np.abs(off[:2]).max() < 1e-9
    assert np.abs(seen.q - TRUE.q).max() < bound * position
    assert np.abs(seen.scene_q - TRUE.scene_q).max() < bound * position
    np.testing.assert_array_equal(seen.items[1].X_PI, np.eye(4))


def test_two_looks_that_are_alike_are_enough():
    eyes = Eyes([TRUE])
    assert average_observations(eyes) is TRUE
    assert eyes.looks == 2
    eyes = Eyes([TRUE])
    assert average_observations(eyes, TRUE) is TRUE
    assert eyes.looks == 1, "the look that was had already counts"


def test_looks_that_differ_in_a_joint_or_a_parent_are_not_alike():
    q = np.array(TRUE.q)
    q[4] += 1e-9
    for other in (
        TRUE.with_robot(q),
        TRUE.with_scene(frozen([0.1, 0.7 + 1e-9])),
        TRUE.with_item(1, Placement(WORLD, TRUE.items[1].X_PI)),
    ):
        eyes = Eyes([TRUE, other])
        average_observations(eyes)
        assert eyes.looks == OBSERVATIONS


def test_the_mean_of_rotations_is_the_nearest_to_all_of_them():
    """Against SciPy's mean, which is found by another way (the largest eigenvector)."""
    rng = np.random.default_rng(1)
    turns = Rotation.from_rotvec(rng.normal(0.0, 0.3, (OBSERVATIONS, 3))) * Rotation.random(rng=rng)
    states = [TRUE.with_item(0, Placement(WORLD, frozen(transform(R)))) for R in turns.as_matrix()]
    X = average_observations(Eyes(states)).items[0].X_PI
    np.testing.assert_allclose(X[:3, :3], turns.mean().as_matrix(), atol=1e-9)


def test_an_item_that_changes_hands_while_it_is_looked_at_is_where_it_was_seen_last():
    inside = Placement(HAND, frozen(transform(None, (0.0, 0.0, 0.12))))
    eyes = Eyes([TRUE.with_item(0, inside)] * 1 + [TRUE] * (OBSERVATIONS - 1))
    seen = average_observations(eyes)
    assert seen.held is None
    np.testing.assert_allclose(seen.items[0].X_PI, X_TRUE, atol=1e-12)
