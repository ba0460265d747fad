"""Demonstrators: where they touch, how they get there, what they reach."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from numpy.testing import assert_allclose, assert_array_equal

from galley.planar.geometry.polygon import SimplePolygon
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.config_file import load_config
from galley.planar.pushing.demonstrators import DEMONSTRATORS, demonstrator
from galley.planar.pushing.demonstrators.motion import GoalDistance, PusherTiming
from galley.planar.pushing.demonstrators.roadmap import Roadmap
from galley.planar.pushing.rollout import SUCCESS, roll_out
from galley.planar.pushing.shapes import SHAPES, shape
from galley.planar.pushing.simulation import PushSimulation

U = SimplePolygon(
    np.array([(-70, 0), (70, 0), (70, 100), (45, 100), (45, 25), (-45, 25), (-45, 100), (-70, 100)])
    / 1000.0
)
SQUARE = SimplePolygon(np.array([(0.0, 0.0), (0.08, 0.0), (0.08, 0.08), (0.0, 0.08)]))


def covered(name, config, seeds):
    """Which episodes succeed."""
    sim, driver = PushSimulation(config), demonstrator(name, config)
    return [roll_out(sim, driver, seed).success for seed in seeds]


def test_an_unknown_demonstrator_is_refused_by_name():
    with pytest.raises(ValueError, match=r"demonstrator = 'mouse': must be one of scripted"):
        demonstrator("mouse", PushConfig())


@pytest.mark.parametrize("name", DEMONSTRATORS)
@pytest.mark.parametrize(("gain", "message"), [(0.0, "pusher_gain = 0"), (0.1, "= 200 s")])
def test_a_pusher_that_no_target_moves_is_refused(name, gain, message):
    with pytest.raises(ValueError, match=message):
        demonstrator(name, PushConfig(pusher_gain=gain))


@pytest.mark.parametrize("name", DEMONSTRATORS)
def test_the_same_seed_gives_the_same_episode(name):
    config = PushConfig()
    sim, driver = PushSimulation(config), demonstrator(name, config)
    first = roll_out(sim, driver, 4, steps=40)
    roll_out(sim, driver, 5, steps=7)  # leaves it in the midst of a push
    again = roll_out(sim, driver, 4, steps=40)
    other = roll_out(sim, demonstrator(name, config), 4, steps=40)
    assert_array_equal(first.targets, again.targets)
    assert_array_equal(first.targets, other.targets)


@pytest.mark.parametrize("name", DEMONSTRATORS)
def test_targets_lie_on_the_table_and_states_are_left_as_they_are(name):
    config = replace(PushConfig(), goal_x=0.4)
    sim, driver = PushSimulation(config), demonstrator(name, config)
    for seed in range(2):
        state = sim.random_states(np.random.default_rng(seed), 1)
        driver.reset(seed)
        for _ in range(40):
            before = state.values.copy()
            target = driver.act(state)
            assert_array_equal(state.values, before)
            assert target.shape == (2,)
            assert (target >= config.pusher_radius).all()
            assert (target <= config.width - config.pusher_radius).all()
            sim.advance(state, target[None])


@pytest.mark.parametrize("outline", [*map(shape, SHAPES), U], ids=[*SHAPES, "U"])
def test_paths_keep_clear_of_the_body_and_of_the_rim(outline):
    config = PushConfig(shape=outline)
    sim, r = PushSimulation(config), config.pusher_radius
    roadmap, rng = Roadmap(sim), np.random.default_rng(0)
    inside = shapely.box(r, r, config.width - r, config.height - r).buffer(1e-9)
    for _ in range(8):
        state = sim.random_states(rng, 1)
        body, pusher = state.body[:, 0], state.pusher[:, 0]
        paths = roadmap.paths(body, pusher)
        placed = shapely.Polygon(sim.body.moved(body).vertices)
        assert np.isfinite(paths.lengths).any()
        for k in np.nonzero(np.isfinite(paths.lengths))[0]:
            points = paths.to(int(k))
            line = shapely.LineString(points)
            assert_allclose(points[0], pusher)
            assert line.length == pytest.approx(paths.lengths[k])
            assert line.distance(placed) > r
            assert inside.covers(line)


@pytest.mark.parametrize("outline", [*map(shape, SHAPES), U], ids=[*SHAPES, "U"])
def test_paths_are_as_short_as_those_of_a_fine_grid(outline):
    # The shortest path round a body grown by a disc is an arc where ours has a corner outside it.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    config = PushConfig(shape=outline, width=2.0, height=2.0)
    sim = PushSimulation(config)
    roadmap = Roadmap(sim)
    body, pusher = np.array([1.0, 1.0, 0.0]), np.array([0.85, 1.0])
    paths = roadmap.paths(body, pusher)
    step = 0.004
    axis = np.arange(0.8, 1.2 + step / 2, step)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    free = sim.gap(np.tile(body, (len(grid), 1)), grid) > 0.3 * config.pusher_radius
    rows, columns, sizes = [], [], []
    index = np.arange(len(grid)).reshape(len(axis), -1)
    for i, j in ((1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (1, 2), (2, -1), (1, -2)):
        a = index[: len(axis) - i, max(-j, 0) : len(axis) - max(j, 0)].ravel()
        b = index[i:, max(j, 0) : len(axis) + min(j, 0)].ravel()
        keep = free[a] & free[b]
        rows.append(a[keep])
        columns.append(b[keep])
        sizes.append(np.full(keep.sum(), step * np.hypot(i, j)))
    graph = coo_array(
        (np.concatenate(sizes), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(grid),) * 2,
    )
    start = int(np.linalg.norm(grid - pusher, axis=1).argmin())
    shortest = dijkstra(graph.tocsr(), directed=False, indices=start)
    stand = roadmap.standoffs + body[:2]
    nearest = np.linalg.norm(grid[None] - stand[:, None], axis=2).argmin(axis=1)
    theirs = shortest[nearest]
    good = np.isfinite(theirs)
    assert good.mean() > 0.9
    assert (paths.lengths[good] <= 1.15 * theirs[good] + 0.02).all()


def test_a_pusher_follows_a_path_round_a_corner():
    config = PushConfig()
    sim, pace = PushSimulation(config), PusherTiming.of(config)
    points = np.array([(0.05, 0.05), (0.35, 0.05), (0.35, 0.3)])
    state = sim.states((0.1, 0.4, 0.0), points[0])
    steps = int(pace.arrival(0.55) / pace.step) + 1
    seen = []
    for target in pace.along(points, np.arange(steps + 10)):
        sim.advance(state, target[None])
        seen.append(state.pusher[:, 0].copy())
    line = shapely.LineString(points)
    off = [line.distance(shapely.Point(p)) for p in seen]
    room = 1.5 * np.sqrt(2.0) - 1.0  # radii: of a node at a right angle from the body
    assert max(off) < room * config.pusher_radius
    assert_allclose(seen[-1], points[-1], atol=2e-3)


def test_the_distance_from_the_goal_is_that_of_a_fine_grid_of_points():
    sim = PushSimulation(PushConfig())
    aim, goal = GoalDistance(sim), np.array(sim.config.goal)
    offset = np.array([0.03, -0.01, 0.05])
    grid = np.stack(np.meshgrid(*[np.linspace(-0.1, 0.1, 401)] * 2), axis=-1).reshape(-1, 2)
    p = grid[shapely.contains_xy(shapely.Polygon(sim.body.vertices), *grid.T)]

    def placed(pose):
        c, s = np.cos(pose[2]), np.sin(pose[2])
        return p @ np.array([[c, s], [-s, c]]) + pose[:2]

    way = np.sqrt(((placed(goal + offset) - placed(goal)) ** 2).sum(axis=1).mean())
    assert aim.distances((goal + offset)[None])[0] == pytest.approx(way, rel=0.01)


@pytest.mark.parametrize(
    ("outline", "turns"), [(shape("T"), 1), (shape("rectangle"), 2), (SQUARE, 4)]
)
def test_a_body_that_covers_the_goal_turned_is_at_the_goal(outline, turns):
    sim = PushSimulation(PushConfig(shape=outline))
    pose = np.add(sim.config.goal, (0.0, 0.0, 2.0 * np.pi / turns))
    assert GoalDistance(sim).distances(pose[None])[0] == pytest.approx(0.0, abs=1e-9)
    if turns > 1:
        assert sim.states(pose, (0.03, 0.03)).coverage[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "config",
    [
        *(PushConfig(shape=each) for each in SHAPES),
        PushConfig(shape=U),
        PushConfig(pusher_mass=1.0),
        load_config("examples/pushing/pushing.yaml"),
        pytest.param(PushConfig(friction=0.2), marks=pytest.mark.slow),
        pytest.param(PushConfig(pusher_radius=0.03, contact_friction=0.3), marks=pytest.mark.slow),
        pytest.param(PushConfig(width=0.8, goal_x=0.6), marks=pytest.mark.slow),
    ],
    ids=[*SHAPES, "U", "light pusher", "arrow", "slippery", "thick pusher", "wide table"],
)  # fmt: skip
def test_the_planner_covers_the_goal(config):
    assert sum(covered("planned", config, range(2))) == 2


def test_a_disturbed_plan_is_made_anew():
    config = PushConfig()
    sim, driver = PushSimulation(config), demonstrator("planned", config)
    state = sim.random_states(np.random.default_rng(0), 1)
    driver.reset(0)
    for k in range(300):
        if k in (15, 30):
            state.body[:] += np.array([[0.02], [-0.01], [0.5]])
            sim.measure(state)
        sim.advance(state, driver.act(state)[None])
        if k > 30 and state.coverage[0] > SUCCESS:
            break
    assert state.coverage[0] > SUCCESS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "outline", "least"),
    [
        *(("planned", each, 97) for each in SHAPES),
        ("scripted", "rectangle", 90),
        ("scripted", "T", 50),
    ],
)
def test_of_100_starts_so_many_succeed(name, outline, least):
    assert sum(covered(name, PushConfig(shape=shape(outline)), range(100))) >= least
