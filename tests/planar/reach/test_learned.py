"""The learned p(Q | H): its chart, its density, its file and its training."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.domain.errors import BadInput
from galley.learning.checkpoints import random_weights
from galley.planar.reach import DonutSampler, PlanarArm
from galley.planar.reach.dataset import DatasetSettings
from galley.planar.reach.learned import (
    FitSettings,
    FlowArchitecture,
    LearnedModel,
    ReachTask,
    evaluate,
    load_checkpoint,
    save_checkpoint,
    train,
)
from galley.planar.reach.learned.model import empty_flow, features
from galley.planar.reach.learned.unit_cube_map import UnitCubeMap
from galley.tests.digests import digest
from galley.tests.effort import examples

BOUNDS = ((-1.0, 1.0), (-0.5, 1.5))
BITING = ((-2.0, 0.9), (-2.5, 3.0))  # P(elbow +) is 0.54
TINY = FlowArchitecture(bins=6, width=16, depth=1)


def task(limits=None, circle=None, sigma=0.3, bases=4000):
    arm = PlanarArm(1.0, 0.8, limits)
    sampler = DonutSampler(arm, 0.05, sigma)
    return ReachTask(DatasetSettings(sampler, bases, None, BOUNDS), circle)


def untrained(what, seed=3):
    """A model with random weights: any weights make a density."""
    chart = UnitCubeMap(what.sampler.arm, what.ring, 0.4)
    scale = np.ones((2, 2 if what.circle is None else 5))
    return LearnedModel(what, chart, TINY, scale, random_weights(empty_flow(what, TINY), seed), {})


@pytest.fixture(scope="module")
def model():
    """Headings are free, so that p / q and q / p are bounded; limits cut the support."""
    return untrained(task(BITING, sigma=9.0))


@pytest.fixture(scope="module")
def truth(model):
    rng = np.random.default_rng(0)
    targets = model.task.targets(20_000, rng)
    return model.task.sampler.sample(targets, len(targets), rng)


# The chart.

limits = st.none() | st.tuples(
    st.tuples(st.floats(-4.0, 3.0), st.floats(0.3, 7.0)),
    st.tuples(st.floats(-4.0, 3.0), st.floats(0.3, 7.0)),
).map(lambda pairs: tuple((low, low + width) for low, width in pairs))


@settings(max_examples=examples(300))
@given(st.floats(0.2, 2.0), st.floats(0.2, 2.0), limits, st.floats(0.05, 3.0), st.integers(0, 99))
def test_every_point_of_the_cube_is_a_stance_within_the_limits(l1, l2, limits, spread, seed):
    arm = PlanarArm(l1, l2, limits)
    chart = UnitCubeMap(arm, (arm.inner + 0.01, arm.outer - 0.01), spread)
    rng = np.random.default_rng(seed)
    point, zero = rng.random((50, 3)), rng.uniform(-4.0, 4.0, 50)
    elbow = rng.choice(np.array([1, -1])[chart.possible], 50) if chart.possible.any() else None
    if elbow is None:
        return  # the limits leave no ring: the sampler has no rows there either
    target = rng.uniform(-3.0, 3.0, (50, 2))
    base = chart.bases(point, elbow, target, zero)
    theta, valid = arm.ik_batch(base, target)
    side = (1 - elbow) // 2
    if len(np.ravel(limits)) < 4 or limits[1][1] - limits[1][0] < np.pi:  # else two rings in one
        assert valid[np.arange(50), side].all()
    q = np.column_stack([base, theta[np.arange(50), side]])[valid[np.arange(50), side]]
    kept = valid[np.arange(50), side]
    back, _, inside = chart.to_cube(q, target[kept], zero[kept])
    assert inside.all()
    np.testing.assert_allclose(back, point[kept], atol=1e-7)


@pytest.mark.parametrize("bounds", [None, BITING])
def test_the_volume_is_the_determinant_of_finite_differences(bounds):
    what = task(bounds)
    chart, rng = UnitCubeMap(what.sampler.arm, what.ring, 0.3), np.random.default_rng(1)
    rows = what.sampler.sample(what.targets(500, rng), 500, rng)
    _, volume, _ = chart.to_cube(rows.q, rows.target)
    jacobian = np.empty((len(rows), 3, 3))
    for i in range(3):
        step = np.zeros(5)
        step[i] = 1e-6
        ends = [chart.to_cube(rows.q + sign * step, rows.target)[0] for sign in (1, -1)]
        jacobian[:, :, i] = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(
        np.log(np.abs(np.linalg.det(jacobian))), volume, atol=1e-5, err_msg=f"limits {bounds}"
    )


# The density.


def test_the_density_on_the_cube_integrates_to_one_for_each_elbow(model):
    import equinox
    import jax

    n = 24
    middle = (np.arange(n) + 0.5) / n
    cube = np.stack(np.meshgrid(middle, middle, middle, indexing="ij"), -1).reshape(-1, 3)
    context = np.float32([0.3, -0.7])

    @equinox.filter_jit
    def density(flow, elbow):
        each = jax.vmap(lambda point: flow.log_density(context, elbow, point))
        return each(cube.astype(np.float32))

    for elbow in np.float32([1.0, -1.0]):
        values = np.exp(density(model.flow, elbow))
        assert values.std() > 0.1
        assert values.mean() == pytest.approx(1.0, abs=5e-3)


def test_the_density_in_the_world_integrates_to_one(model, truth):
    """As the mean of q / p over samples of the exact p, whose support holds that of q."""
    log_p = model.task.sampler.log_density(truth.q, truth.target)
    ratio = np.exp(model.log_density(truth.q, truth.target) - log_p)
    assert ratio.std() > 0.3
    assert ratio.mean() == pytest.approx(1.0, abs=6 * ratio.std() / np.sqrt(len(ratio)))


def test_samples_have_the_density_that_the_model_gives_them(model, truth):
    """p / q over samples of q has mean 1, and weighs them into samples of p."""
    drawn = model.sample(truth.target, len(truth), seed=5)
    assert len(drawn) == len(truth)  # all are within reach and limits
    np.testing.assert_allclose(
        model.task.sampler.arm.fk(drawn.q[:, :3], drawn.q[:, 3:]), drawn.target, atol=1e-12
    )
    weight = np.exp(
        model.task.sampler.log_density(drawn.q, drawn.target)
        - model.log_density(drawn.q, drawn.target)
    )
    assert weight.mean() == pytest.approx(1.0, abs=6 * weight.std() / np.sqrt(len(weight)))
    away = [rows.q[:, :2] - rows.target for rows in (drawn, truth)]
    for values in (
        [np.hypot(*each.T) for each in away],
        [np.cos(np.arctan2(*each.T)) for each in away],
        [rows.q[:, 4] for rows in (drawn, truth)],
        [np.sin(rows.q[:, 3]) for rows in (drawn, truth)],
    ):
        error = np.hypot((weight * values[0]).std(), values[1].std()) / np.sqrt(len(weight))
        assert (weight * values[0]).mean() == pytest.approx(values[1].mean(), abs=6 * error)


def test_an_elbow_that_the_limits_forbid_is_never_drawn():
    model = untrained(task(((-3.0, 3.0), (0.4, 2.0))))
    rows = model.sample((0.2, 0.1), 500, seed=0)
    assert len(rows) == 500
    assert (rows.elbow == 1).all()


# The circle.


def test_free_agrees_with_points_along_the_links():
    what, rng = task(circle=(0.1, 0.4)), np.random.default_rng(2)
    rows = what.sampler.sample(what.targets(400, rng), 400, rng)
    circle = what.circles(rows.target, rng)
    joints = what.sampler.arm.chain.points(rows.q[:, :3], rows.q[:, 3:])
    t = np.linspace(0.0, 1.0, 2001)[:, None, None]
    links = [(1.0 - t) * joints[:, i] + t * joints[:, i + 1] for i in (0, 1)]
    nearest = np.min(
        [np.linalg.norm(each - circle[:, :2], axis=2).min(axis=0) for each in links], axis=0
    )
    clear = np.abs(nearest - circle[:, 2]) > 1e-3
    free = what.free(rows.q, circle)
    assert 0.1 < free.mean() < 0.95
    assert (free == (nearest > circle[:, 2]))[clear].all()


def test_a_model_with_a_circle_asks_for_it():
    model = untrained(task(circle=(0.1, 0.4)))
    with pytest.raises(ValueError, match="with a circle as context"):
        model.sample((0.0, 0.0), 3, seed=0)
    with pytest.raises(ValueError, match="with no circle as context"):
        untrained(task()).sample((0.0, 0.0), 3, seed=0, circle=(1.0, 0.0, 0.1))


def test_what_a_flow_is_told_of_a_circle_places_it():
    rng = np.random.default_rng(3)
    target, circle = rng.uniform(-1, 1, (9, 2)), rng.uniform(0.1, 1, (9, 3))
    raw, zero = features(target, circle)
    away = circle[:, :2] - target
    np.testing.assert_allclose(np.column_stack([np.cos(zero), np.sin(zero)]) * raw[:, 2:3], away)
    np.testing.assert_allclose(raw[:, [0, 1, 3]], np.column_stack([target, circle[:, 2]]))


# Files.


def test_a_checkpoint_comes_back_bit_for_bit(model, tmp_path):
    for first in (model, untrained(task(BITING, circle=(0.1, 0.4)))):
        save_checkpoint(tmp_path / "first", first)
        again = load_checkpoint(tmp_path / "first")
        save_checkpoint(tmp_path / "again", again)
        assert again.task == first.task
        assert digest(tmp_path / "first") == digest(tmp_path / "again")
        if first is model:
            rows = [each.sample((0.0, 0.3), 64, seed=1).q for each in (first, again)]
            assert (rows[0] == rows[1]).all()


def test_damaged_checkpoints_are_bad_input(model, tmp_path):
    path = tmp_path / "model.safetensors"
    save_checkpoint(path, model)
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    cut = [whole[:n] for n in (0, 5, 8, 50, header - 1, header, header + 64, len(whole) - 4)]
    nan = whole[:-4] + np.float32(np.nan).tobytes()
    faults = [nan, whole + b"0000", b"{}", whole.replace(b"format", b"fromat", 1)]
    faults += [whole.replace(b'\\"l1\\": 1.0', b'\\"l1\\": 0.0'), whole.replace(b"bins", b"bans")]
    for data in cut + faults:
        path.write_bytes(data)
        with pytest.raises(BadInput) as caught:
            load_checkpoint(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(whole.replace(b'\\"format\\": 3', b'\\"format\\": 9'))
    with pytest.raises(BadInput, match="format 9, expected 3"):
        load_checkpoint(path)


# Training.


@pytest.mark.slow
def test_training_repeats_itself_and_keeps_the_best_so_far(tmp_path):
    what = task(BITING, bases=2000)
    seen = []

    def each(progress, best):
        seen.append((progress.step, progress.validation, progress.best))
        save_checkpoint(tmp_path / "so_far.safetensors", best)
        if len(seen) == 5 and not (tmp_path / "stop").exists():
            (tmp_path / "stop").touch()
            raise KeyboardInterrupt

    how = FitSettings(steps=45, batch=64, patience=45)
    with pytest.raises(KeyboardInterrupt):
        train(what, what.samples(), TINY, how, each)
    stopped = load_checkpoint(tmp_path / "so_far.safetensors")
    assert stopped.history["step"] == max(s for s, _, best in seen if best)
    first, seen = list(seen), []
    model = train(what, what.samples(), TINY, how, each)
    assert seen[:5] == first
    assert seen[-1][0] == 45  # the last evaluation has fewer steps behind it
    assert model.history["validation_nats"] == min(value for _, value, _ in seen)
    assert model.history["validation_nats"] < seen[0][1]


@pytest.mark.slow
@pytest.mark.parametrize(("bounds", "circle"), [(BITING, None), (None, (0.1, 0.4))])
def test_a_short_training_is_near_the_truth(bounds, circle):
    what = task(bounds, circle, bases=50_000)
    model = train(
        what, what.samples(), FlowArchitecture(width=32), FitSettings(steps=400, batch=1024)
    )
    found = evaluate(model, bases=20_000)
    obstacle = None if circle is None else (0.3, 0.1, 0.2)
    assert len(model.sample((0.0, 0.0), 1000, 0, obstacle)) == 1000
    assert found.positive == pytest.approx(found.positive_true, abs=0.03)
    assert found.spread_rad == pytest.approx(found.spread_true_rad, abs=0.02)
    assert found.nll_nats - found.entropy_nats == pytest.approx(found.kl_nats, abs=0.05)
    assert -4 * found.kl_error < found.kl_nats < (0.03 if circle is None else 0.25)
