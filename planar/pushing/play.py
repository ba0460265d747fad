"""A window in which the mouse, or a demonstrator, pushes (pygame-ce, extra ``planar``)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from galley.domain.frames import Array
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.demonstrators import Demonstrator
from galley.planar.pushing.film import Moment, PushCanvas, moment_of
from galley.planar.pushing.rollout import STEPS, Rollout, Stopped, roll_out
from galley.planar.pushing.simulation import PushState
from galley.planar.window import Window

_RATE = 50.0  # Hz, of pictures
_HOLD = 1.5  # s, for which the end of an episode is shown
_GRAB = 1.5  # radii of the pusher: so near to its centre the mouse takes it
_SLACK = 0.15  # m beside the table, for the arm's elbows
_TITLE = "R: restart   escape: end"


def watch(
    config: PushConfig,
    demonstrator: Demonstrator | None = None,
    seed: int = 0,
    episodes: int | None = None,
    steps: int = STEPS,
    height: int = 720,
) -> Iterator[Rollout]:
    """Open a window and push in real time, episode after episode; yields each at its end.

    An episode ends when the goal is covered, after ``steps``, or when R is pressed; the next one
    has the next seed. Escape, or closing the window, ends everything. The picture is one control
    step late, so that it moves smoothly.

    Args:
        config: parameters of the simulation.
        demonstrator: drives the pusher; None: the mouse does, once it has come to the pusher.
        seed: of the first episode.
        episodes: number of episodes; None: until escape.
        steps: most control steps of an episode.
        height: of the window, pixels.

    Raises:
        ImportError: pygame is missing.
        RuntimeError: there is no display.
        ValueError: the arm can't hold the pusher without crossing itself.
    """
    slack = [(-_SLACK, 0.0), (config.width + _SLACK, 0.0)]
    stage = PushCanvas(config, height, slack)
    with Window(stage.view.width, stage.view.height, "galley push") as window:
        count = 0
        while episodes is None or count < episodes:
            live = _Live(stage, window, demonstrator)
            rollout = roll_out(stage.sim, live, seed + count, steps)
            if len(rollout.targets):
                yield rollout
            if live.stopped is None:
                live.show_end(rollout)
            if live.stopped == "end":
                return
            count += 1


class _Live:
    """A demonstrator that shows each state, with targets from another one or the mouse."""

    def __init__(self, stage: PushCanvas, window: Window, inner: Demonstrator | None) -> None:
        self._stage, self._window, self._inner = stage, window, inner
        self._last: Moment | None = None
        self._target: Array | None = None
        self.stopped: str | None = None
        """``restart`` or ``end`` if a key ended the episode, else None."""

    def reset(self, seed: int) -> None:
        """Begin an episode, and put its seed into the title."""
        self._title = f"seed {seed}   {_TITLE}"
        if self._inner is not None:
            self._inner.reset(seed)

    def act(self, state: PushState) -> Array:
        """Show the motion from the last state to this one in real time; returns the next target."""
        now = self._moment(state.values[:, 0].copy())
        if self._last is None:
            self._begin(now)
        else:
            count = max(1, round(self._stage.step * _RATE))
            for k in range(1, count + 1):
                self._show(self._stage.between(self._last, now, k / count), count)
        self._last = now
        if self._inner is None:
            self._target = self._mouse()
        else:
            self._target = np.asarray(self._inner.act(state), dtype=np.float64)
        return self._target

    def show_end(self, rollout: Rollout) -> None:
        """Show the last state for a while."""
        moment = moment_of(self._stage, rollout, len(rollout.targets) * self._stage.step)
        try:
            for _ in range(round(_HOLD * _RATE)):
                self._show(moment)
        except Stopped:
            return

    def _begin(self, start: Moment) -> None:
        """Show the start, with a mouse until it has come to the pusher."""
        reach = _GRAB * self._stage.sim.config.pusher_radius
        self._show(start)
        while self._inner is None:
            if np.hypot(*(self._mouse() - start.values[:2])) <= reach:
                return
            self._show(start, note="bring the mouse to the pusher   ")

    def _mouse(self) -> Array:
        """The point (2,), m, of the table under the mouse; infinite until the mouse has moved."""
        if self._window.mouse is None:
            return np.full(2, np.inf)
        config, point = self._stage.sim.config, self._stage.view.place(self._window.mouse)
        return np.clip(point, 0.0, (config.width, config.height))

    def _moment(self, values: Array) -> Moment:
        arm = self._stage.arm
        start = np.zeros(len(arm.config.links)) if self._last is None else self._last.angles
        clock = 0.0 if self._last is None else self._last.clock + self._stage.step
        angles = arm.ik(start, values[:2])[0]
        return Moment(values, angles, self._target, clock, float(values[10]))

    def _show(self, moment: Moment, count: int = 1, note: str = "") -> None:
        """Show a moment for as long as a picture lasts, one of ``count`` in a control step.

        Raises:
            Stopped: R or escape was pressed, or the window was closed.
        """
        if not self._window.read():
            self.stopped = "end"
            raise Stopped
        if self._window.pygame.K_r in self._window.pressed:
            self.stopped = "restart"
            raise Stopped
        rate = _RATE if count == 1 else count / self._stage.step
        self._window.show(self._stage.draw(moment, note or self._title), rate)
