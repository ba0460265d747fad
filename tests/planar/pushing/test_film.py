"""Films of episodes, and the window in which the mouse or a demonstrator pushes."""

import imageio.v3 as imageio
import numpy as np
import pytest
from numpy.testing import assert_allclose

from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.film import PushCanvas, film_rollouts, moment_of
from galley.planar.pushing.picture import PUSHER, TARGET
from galley.planar.pushing.play import watch
from galley.planar.pushing.rollout import SUCCESS, Stopped, roll_out
from galley.planar.pushing.simulation import PushSimulation


class Circling:
    """Drives the pusher round in a circle, whatever happens."""

    def __init__(self, stop=None):
        self.stop = stop

    def reset(self, seed):
        self.step = 0

    def act(self, state):
        self.step += 1
        if self.step == self.stop:
            raise Stopped
        angle = 0.3 * self.step
        return np.array([0.256 + 0.2 * np.cos(angle), 0.256 + 0.2 * np.sin(angle)])


@pytest.fixture(scope="module")
def rollout():
    return roll_out(PushSimulation(PushConfig()), Circling(), 3, steps=12)


def centre_of(picture, color, view, tolerance=12):
    """Mean place (2,) m of the pixels of a colour."""
    rows, columns = np.nonzero(np.abs(picture.astype(int) - color).max(axis=2) <= tolerance)
    assert len(rows) > 10
    return view.place(np.array([columns.mean(), rows.mean()]) + 0.5)


def test_the_picture_shows_pusher_target_and_arm_where_the_episode_has_them(rollout):
    arm = PushArm(rollout.config.arm)
    stage = PushCanvas(rollout.config, 480, arm.points(rollout.angles).reshape(-1, 2))
    for k in (0, 5, 12):
        moment = moment_of(stage, rollout, k * 0.1)
        assert_allclose(moment.values, rollout.states[k], rtol=0, atol=0)
        picture = stage.draw(moment, "circling")
        # The arm's last link covers a part of the pusher.
        assert_allclose(
            centre_of(picture, PUSHER, stage.view), rollout.states[k, :2], rtol=0, atol=0.008
        )
        assert_allclose(
            centre_of(picture, TARGET, stage.view), rollout.targets[max(k - 1, 0)], atol=0.002
        )
        joints = stage.view.pixels(arm.points(rollout.angles[k]))
        assert (joints >= 0).all()
        assert (joints < (stage.view.width, stage.view.height)).all()


def test_between_two_steps_the_arm_stays_at_the_pusher(rollout):
    stage = PushCanvas(rollout.config, 120)
    for clock in np.linspace(0.0, 1.2, 50):
        moment = moment_of(stage, rollout, clock)
        low, high = (rollout.states[int(f(clock * 10 - 1e-6))] for f in (np.floor, np.ceil))
        assert (moment.values >= np.minimum(low, high) - 1e-9)[:7].all() or clock == 0.0
        assert (moment.values <= np.maximum(low, high) + 1e-9)[:7].all() or clock == 0.0
        assert_allclose(stage.arm.tip(moment.angles), moment.values[:2], atol=1e-5)
        assert not stage.arm.collides(moment.angles)
        assert moment.coverage <= max(low[10], high[10])


@pytest.mark.parametrize("name", ["push.mp4", "push.gif"])
def test_a_film_shows_every_episode_and_its_end(name, rollout, tmp_path):
    short = roll_out(PushSimulation(PushConfig()), Circling(stop=4), 3)
    assert len(short.targets) == 3
    heard = []
    film_rollouts(
        [rollout, short],
        tmp_path / name,
        "circling",
        fps=10.0,
        height=400,
        progress=lambda *count: heard.append(count),
    )
    frames = [frame[..., :3] for frame in imageio.imiter(tmp_path / name)]
    count = (12 + 1 + 10) + (3 + 1 + 10)
    shown = 13 + 4 if name.endswith("gif") else count  # GIF joins equal pictures
    assert heard == [(k + 1, count) for k in range(count)]
    assert len(frames) in (shown, count)
    assert all(frame.shape == frames[0].shape for frame in frames)
    if len(frames) == count:
        points = PushArm(rollout.config.arm).points(np.concatenate([rollout.angles, short.angles]))
        view = PushCanvas(rollout.config, 400, points.reshape(-1, 2)).view
        for each, first in ((rollout, 0), (short, 23)):
            for k in range(len(each.states)):
                found = centre_of(frames[first + k], PUSHER, view, 45)
                assert_allclose(found, each.states[k, :2], rtol=0, atol=0.012)


@pytest.fixture
def pygame(monkeypatch):
    """Real pygame on SDL's dummy driver, which doesn't wait."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    library = pytest.importorskip("pygame")

    class Clock:
        def tick(self, rate):
            rates.append(rate)

    rates = []
    monkeypatch.setattr(library.time, "Clock", Clock)
    library.rates = rates
    return library


def post(monkeypatch, pygame, plan):
    """Post the events of ``plan(tick)`` at each look at the events."""
    ticks, real = iter(range(100_000)), pygame.event.get

    def get():
        for kind, values in plan(next(ticks)):
            pygame.event.post(pygame.event.Event(kind, **values))
        return real()

    monkeypatch.setattr(pygame.event, "get", get)


def test_the_pusher_follows_the_mouse_once_it_has_come(pygame, monkeypatch):
    config = PushConfig()
    stage = PushCanvas(config, 720, [(-0.15, 0.0), (config.width + 0.15, 0.0)])
    start = PushSimulation(config).random_states(np.random.default_rng(5), 1)
    pusher = stage.view.pixels(start.pusher[:, 0])
    far = stage.view.pixels((0.4, 0.45))

    moves = {3: (1, 1), 8: tuple(pusher.astype(int)), 30: tuple(far.astype(int)), 140: (400, 100)}

    def plan(tick):
        if tick in moves:
            yield pygame.MOUSEMOTION, {"pos": moves[tick], "rel": (0, 0), "buttons": (0, 0, 0)}
        if tick == 100:
            yield pygame.KEYDOWN, {"key": pygame.K_r}
        if tick == 101:
            yield pygame.KEYUP, {"key": pygame.K_r}
        if tick == 300:
            yield pygame.KEYDOWN, {"key": pygame.K_ESCAPE}

    post(monkeypatch, pygame, plan)
    found = list(watch(config, seed=5))
    assert found[0].seed == 5
    assert len(found[0].targets) == pytest.approx((100 - 8) / 5, abs=1)  # 5 pictures a step
    assert_allclose(found[0].states[0, :2], start.pusher[:, 0])
    assert_allclose(found[0].targets[0], start.pusher[:, 0], atol=0.002)
    assert_allclose(found[0].targets[-1], (0.4, 0.45), atol=0.002)
    assert np.hypot(*(found[0].states[-1, :2] - (0.4, 0.45))) < 0.05
    assert len(found) == 1  # to the second's pusher the mouse didn't come
    assert set(pygame.rates) == {50.0}
    assert not pygame.display.get_init()


def test_a_demonstrator_is_watched_in_real_time(pygame, monkeypatch):
    post(monkeypatch, pygame, lambda tick: ())
    pictures = []
    show = pygame.display.flip
    monkeypatch.setattr(
        pygame.display,
        "flip",
        lambda: (pictures.append(pygame.surfarray.array3d(pygame.display.get_surface())), show()),
    )
    config = PushConfig()
    found = list(watch(config, Circling(), seed=3, episodes=2, steps=6))
    alone = [roll_out(PushSimulation(config), Circling(), seed, 6) for seed in (3, 4)]
    for each, other in zip(found, alone, strict=True):
        assert_allclose(each.states, other.states, rtol=0, atol=0)
        assert_allclose(each.targets, other.targets, rtol=0, atol=0)
        assert each.coverage[-1] < SUCCESS
    assert len(pictures) == 2 * (1 + 5 * 5 + 75)  # the start, five a step, the end
    view = PushCanvas(config, 720, [(-0.15, 0.0), (config.width + 0.15, 0.0)]).view
    last = pictures[25 + 75].swapaxes(0, 1)
    assert_allclose(centre_of(last, PUSHER, view), found[0].states[-1, :2], atol=0.008)


def test_a_prediction_is_drawn_from_its_first_target_to_its_last():
    sim = PushSimulation(PushConfig())
    run = roll_out(sim, Circling(), seed=0, steps=2)
    stage = PushCanvas(run.config, 480)
    line = np.linspace((0.05, 0.45), (0.45, 0.45), 16)
    plain = stage.draw(moment_of(stage, run, 0.0), "")
    shown = stage.draw(moment_of(stage, run, 0.0, [np.stack([line + 0.02, line])] * 2), "")
    columns, rows = np.rint(stage.view.pixels(line)).astype(int).T
    colors = shown[rows, columns].astype(int)
    assert (np.abs(colors - plain[rows, columns]).sum(axis=1) > 30).all()
    assert colors[0, 2] > colors[0, 0] + 50  # blue is the next
    assert colors[-1, 0] > colors[-1, 2] + 50  # red the last
