"""A learned p(Q | H): samples and densities in the world, and its checkpoint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array
from galley.learning.checkpoints import (
    filled_by_name,
    named_arrays,
    read_checkpoint,
    whole,
    write_checkpoint,
)
from galley.planar.reach import BaseSamples
from galley.planar.reach.dataset import DatasetSettings
from galley.planar.reach.learned.flow import SplineFlow
from galley.planar.reach.learned.task import ReachTask
from galley.planar.reach.learned.unit_cube_map import UnitCubeMap

FORMAT = 3  # of a checkpoint
_ROWS = 2**14  # rows at a time; always the same shape, so that it is compiled once


@dataclass(frozen=True)
class FlowArchitecture:
    """The size of a flow.

    Attributes:
        bins: of its splines.
        width: units of a hidden layer.
        depth: hidden layers of its networks.
    """

    bins: int = 24
    width: int = 64
    depth: int = 2


@dataclass(frozen=True)
class LearnedModel:
    """A trained flow with its chart.

    Attributes:
        task: the distribution that it has learned.
        chart: coordinates in which the flow works.
        shape: the flow's size.
        scale: mean and standard deviation (2, k) of the k numbers of a context.
        flow: density on the unit cube.
        history: of the training: steps, validation loss (nats), seed and so on.
    """

    task: ReachTask
    chart: UnitCubeMap
    shape: FlowArchitecture
    scale: Array
    flow: SplineFlow
    history: dict[str, float | int]

    def sample(
        self, target: ArrayLike, n: int, seed: int, circle: ArrayLike | None = None
    ) -> BaseSamples:
        """``n`` draws, without those for which the IK has no solution.

        Args:
            target: (2,), or one for each draw (n, 2), m.
            n: number of draws.
            seed: of the draws.
            circle: obstacle x, y, radius (3,) or (n, 3), m, if the model was trained with one.

        Returns:
            Rows as of ``DonutSampler.sample``; ``source`` is the draw, so len / n is the share with
            a solution.
        """
        target, context, zero = self._context(target, n, circle)
        uniform = np.random.default_rng(seed).random((n, 4))
        elbow = np.where(uniform[:, 0] < self._positive(context), 1, -1).astype(np.int8)
        point = _each_row(self.flow, "point", context, elbow, uniform[:, 1:])
        base = self.chart.bases(point, elbow, target, zero)
        theta, valid = self.chart.arm.ik_batch(base, target)
        side = (1 - elbow) // 2
        solved = np.nonzero(valid[np.arange(n), side])[0]
        q = np.column_stack([base[solved], theta[solved, side[solved]]])
        return BaseSamples(q, target[solved], elbow[solved], solved)

    def log_density(
        self, q: ArrayLike, target: ArrayLike, circle: ArrayLike | None = None
    ) -> Array:
        """The log density (m,) per dx dy dpsi, for each of the two elbows, as ``DonutSampler``'s.

        Args:
            q: (m, 5), rows.
            target: (2,) or (m, 2), m.
            circle: as in ``sample``.
        """
        q = np.asarray(q, dtype=np.float64)
        target, context, zero = self._context(target, len(q), circle)
        point, volume, inside = self.chart.to_cube(q, target, zero)
        elbow = np.where(np.sin(q[:, 4]) >= 0.0, 1, -1)
        positive = self._positive(context)
        on_cube = _each_row(self.flow, "log_density", context, elbow, point)
        with np.errstate(divide="ignore"):
            chosen = np.log(np.where(elbow > 0, positive, 1.0 - positive))
        return np.where(inside, on_cube + volume + chosen, -np.inf)

    def positive_share(self, target: ArrayLike, n: int, circle: ArrayLike | None = None) -> Array:
        """Probability of the elbow + (n,) for targets (2,) or (n, 2)."""
        return self._positive(self._context(target, n, circle)[1])

    def _context(
        self, target: ArrayLike, n: int, circle: ArrayLike | None
    ) -> tuple[Array, NDArray[np.float32], Array]:
        if (circle is None) != (self.task.circle is None):
            has = "no circle" if self.task.circle is None else "a circle"
            raise ValueError(f"the model was trained with {has} as context")
        target = np.broadcast_to(np.asarray(target, dtype=np.float64), (n, 2))
        if circle is not None:
            circle = np.broadcast_to(np.asarray(circle, dtype=np.float64), (n, 3))
        raw, zero = features(target, circle)
        return target, ((raw - self.scale[0]) / self.scale[1]).astype(np.float32), zero

    def _positive(self, context: NDArray[np.float32]) -> Array:
        """Probability of the elbow + (m,); 0 or 1 if the limits exclude an elbow."""
        possible = self.chart.possible
        if not possible.all():
            return np.full(len(context), float(possible[0]))
        return np.asarray(1.0 / (1.0 + np.exp(-_each_row(self.flow, "positive", context))))


def features(target: Array, circle: Array | None) -> tuple[Array, Array]:
    """Inputs of the flow (m, k) for targets (m, 2) and circles (m, 3); directions ``zero`` (m,).

    The inputs are the target and, with a circle, its distance from the target, its radius, and half
    the angle that it spans. Phi is measured from the direction of the circle (rad).
    """
    if circle is None:
        return target, np.zeros(len(target))
    away = circle[:, :2] - target
    d = np.hypot(away[:, 0], away[:, 1])
    span = np.arcsin(np.minimum(circle[:, 2] / d, 1.0))
    return np.column_stack([target, d, circle[:, 2], span]), np.arctan2(away[:, 1], away[:, 0])


def save_checkpoint(path: Path | str, model: LearnedModel) -> None:
    """Write a checkpoint: weights as safetensors, the rest as JSON in the file's header.

    Raises:
        BadInput, OSError: as ``atomic_file``.
    """
    settings = {
        "data": model.task.data.record(),
        "circle": model.task.circle,
        "spread": model.chart.spread,
        "shape": asdict(model.shape),
        "history": model.history,
    }
    tensors = {name: np.asarray(leaf) for name, leaf in named_arrays(model.flow)}
    write_checkpoint(path, FORMAT, settings, {**tensors, "scale": model.scale})


def load_checkpoint(path: Path | str) -> LearnedModel:
    """Read a checkpoint of ``save_checkpoint``.

    Raises:
        BadInput: the file is missing, damaged, of another kind or format.
    """
    settings, tensors = read_checkpoint(path, FORMAT, "galley reach train")
    with whole(path, "checkpoint"):
        circle = settings["circle"]
        radii = None if circle is None else (float(circle[0]), float(circle[1]))
        task = ReachTask(DatasetSettings.of_record(settings["data"]), radii)
        shape = FlowArchitecture(**settings["shape"])
        scale = np.asarray(tensors["scale"], dtype=np.float64)
        flow = filled_by_name(empty_flow(task, shape), tensors)
        chart = UnitCubeMap(task.sampler.arm, task.ring, float(settings["spread"]))
        return LearnedModel(task, chart, shape, scale, flow, dict(settings["history"]))


def empty_flow(task: ReachTask, shape: FlowArchitecture) -> SplineFlow:
    """The structure of a task's flow, with shapes and dtypes in place of weights."""
    inputs = 2 if task.circle is None else 5
    flow: SplineFlow = eqx.filter_eval_shape(SplineFlow, inputs, **asdict(shape))
    return flow


def _each_row(flow: SplineFlow, method: str, *columns: NDArray[Any]) -> Array:
    """Results of a method of the flow for many rows, computed in float32."""
    results = []
    for i in range(0, max(1, len(columns[0])), _ROWS):
        part = [np.asarray(column[i : i + _ROWS], dtype=np.float32) for column in columns]
        n = len(part[0])
        padded = [np.pad(c, [(0, _ROWS - n)] + [(0, 0)] * (c.ndim - 1)) for c in part]
        results.append(np.asarray(_compiled(flow, method, *padded), dtype=np.float64)[:n])
    return np.concatenate(results)


@eqx.filter_jit
def _compiled(flow: SplineFlow, method: str, *columns: Any) -> Any:
    return jax.vmap(getattr(flow, method))(*columns)
