"""The inputs and outputs of a policy's network: features of observations, and frames of targets.

In the frame ``body``, the pusher, the earlier poses of the body and the goal are relative to the
body at the last observation. So a contact has the same features wherever the body is. Targets are
relative to the pusher, along the body's axes. Earlier positions of the pusher are relative to the
last one, which stands for the velocity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from galley.domain.frames import Array
from galley.learning.policy.design import Design
from galley.planar.pushing.config import PushConfig


@dataclass(frozen=True)
class Views:
    """Features and frames for one table and design.

    Poses are (n, 3): x, y of the centroid (m), angle (rad).

    Attributes:
        config: of the table.
        design: of the policy.
    """

    config: PushConfig
    design: Design

    @cached_property
    def _outline(self) -> Array:
        """Vertices of the body (k, 2) about the centroid, m."""
        shape = self.config.shape
        return np.asarray(shape.vertices - shape.mass_properties(1.0).centroid)

    @property
    def size(self) -> int:
        """Number of values of an observation."""
        return 5 if self.design.observation == "state" else 2 * len(self._outline) + 2

    def observed(self, states: Array) -> Array:
        """Observations (n, size) as of the environment, from rows (n, 5) of its ``state``."""
        if self.design.observation == "state":
            return states
        points = _placed(self._outline, states[:, 2:])
        return np.column_stack([points.reshape(len(states), -1), states[:, :2]])

    def features(self, observations: Array) -> tuple[Array, Array]:
        """Features of observations, and the frames of the targets.

        Args:
            observations: (n, observation_horizon, size), in the order of time.

        Returns:
            Features (n, f), and poses (n, 3) of the frames of the targets: at the last pusher, with
            the axes of the body or the world.
        """
        n, horizon, _ = observations.shape
        flat = observations.reshape(n * horizon, -1)
        pushers, poses = self._read(flat)
        body = self.design.frame == "body"
        frame = poses.reshape(n, horizon, 3)[:, -1] if body else np.zeros((n, 3))
        frames = np.repeat(frame, horizon, axis=0)
        seen = self.seen(pushers[:, None], frames).reshape(n, horizon, 2)
        seen[:, :-1] -= seen[:, -1:]
        columns = [seen.reshape(n, -1)]
        shown = self._shown(poses, frames).reshape(n, horizon, -1)
        if body:  # the last pose is the frame itself, so it is left out
            goal = np.tile(self.config.goal, (n, 1))
            columns += [shown[:, :-1].reshape(n, -1), self._shown(goal, frame)]
        else:
            columns.append(shown.reshape(n, -1))
        last = pushers.reshape(n, horizon, 2)[:, -1]
        return np.concatenate(columns, axis=1), np.column_stack([last, frame[:, 2]])

    @staticmethod
    def seen(points: Array, frame: Array) -> Array:
        """Points (n, k, 2) of the world, seen from frames (n, 3)."""
        c, s = np.cos(frame[:, 2:]), np.sin(frame[:, 2:])
        x, y = np.moveaxis(points - frame[:, None, :2], 2, 0)
        return np.stack([c * x + s * y, c * y - s * x], axis=2)

    @staticmethod
    def placed(points: Array, frame: Array) -> Array:
        """Points (n, k, 2) of frames (n, 3), in the world: the inverse of ``seen``."""
        c, s = np.cos(frame[:, 2:]), np.sin(frame[:, 2:])
        x, y = np.moveaxis(points, 2, 0)
        return np.stack([c * x - s * y, s * x + c * y], axis=2) + frame[:, None, :2]

    def _read(self, flat: Array) -> tuple[Array, Array]:
        """Positions of the pusher (n, 2), poses of the body (n, 3) of observations (n, size)."""
        if self.design.observation == "state":
            return flat[:, :2], flat[:, 2:]
        points = flat[:, :-2].reshape(len(flat), -1, 2)
        # The rigid motion that fits all vertices best (Kabsch, 1976), in the plane.
        middle = self._outline.mean(axis=0)
        u, v = (self._outline - middle).T
        x, y = np.moveaxis(points - points.mean(axis=1, keepdims=True), 2, 0)
        theta = np.arctan2((u * y - v * x).sum(axis=1), (u * x + v * y).sum(axis=1))
        poses = np.column_stack([points.mean(axis=1), theta])
        poses[:, :2] -= _placed(middle[None], poses)[:, 0] - poses[:, :2]
        return flat[:, -2:], poses

    def _shown(self, poses: Array, frames: Array) -> Array:
        """Poses (n, 3) in frames (n, 3) as features (n, m), continuous over whole turns."""
        if self.design.observation == "keypoints":
            return self.seen(_placed(self._outline, poses), frames).reshape(len(poses), -1)
        turn = poses[:, 2] - frames[:, 2]
        place = self.seen(poses[:, None, :2], frames)[:, 0]
        return np.column_stack([place, np.cos(turn), np.sin(turn)])


def _placed(outline: Array, poses: Array) -> Array:
    """Vertices (n, k, 2) of an outline (k, 2) at poses (n, 3), in the world."""
    return Views.placed(np.broadcast_to(outline, (len(poses), *outline.shape)), poses)
