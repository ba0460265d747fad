"""Pictures of p(Q | H) of the planar arm: densities of base poses and joint angles, and samples.

Each picture is drawn from numbers that a function here returns, so that tests can check them.
Base positions are relative to the target, so that rows of many targets go into one picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.planar.reach import BaseSamples, DonutSampler, PlanarArm
from galley.viz.figures import figure_file

PLUS, MINUS, INK, FAINT = "#c8553d", "#2a7f9e", "#1d2b36", "#8b98a3"
_MOST_DOTS, _ARROWS, _ROBOTS = 4000, 180, 6
_BLANK = 2e-3  # share of the scale below which a density is left blank
_DISTANCES, _ERRORS = 300, 257  # nodes of the quadrature for the base's density
_FINE = 4  # points along the side of a cell at which a density is computed


@dataclass(frozen=True)
class Plane:
    """Densities on the cells of a plane, side by side.

    Attributes:
        x, y: edges of the cells, (k + 1,) and (l + 1,).
        densities: (l, k) each, by name.
        labels: of the x axis, the y axis and the colours.
    """

    x: Array
    y: Array
    densities: Mapping[str, Array]
    labels: tuple[str, str, str]


def poses(samples: BaseSamples) -> Array:
    """Base poses (m, 3), m and rad: positions relative to the target, headings in the world."""
    return np.column_stack([samples.q[:, :2] - samples.target, samples.q[:, 2]])


# -- densities -------------------------------------------------------------------------------------


def base_plane(sampler: DonutSampler, drawn: Mapping[str, BaseSamples], cells: int = 64) -> Plane:
    """Density of the base's position (per m^2): the true one, and histograms of samples."""
    edges = np.linspace(-1.08 * sampler.arm.outer, 1.08 * sampler.arm.outer, cells + 1)
    points = {name: poses(rows)[:, :2] for name, rows in drawn.items()}

    def density(p: Array) -> Array:
        r, densities = _density_of_distance(sampler)
        return np.asarray(np.interp(np.hypot(*p.T), r, densities, left=0.0, right=0.0))

    labels = ("x − x of H (m)", "y − y of H (m)", "density of the base (per m²)")
    return _plane((edges, edges), density, points, labels)


def joint_plane(sampler: DonutSampler, drawn: Mapping[str, BaseSamples], cells: int = 72) -> Plane:
    """Density of the joint angles (per rad^2): the true one, and histograms of samples.

    With the direction phi of the base, dx dy dpsi = w dphi dtheta1 dtheta2, where w is the
    manipulability. The density doesn't depend on phi.
    """
    arm = sampler.arm
    edges = [np.linspace(*ends, cells + 1) for ends in arm.limits or ((-pi, pi), (-pi, pi))]

    def density(theta: Array) -> Array:
        hand = arm.fk(np.zeros((len(theta), 3)), theta)
        r, turn = np.hypot(*hand.T), np.arctan2(hand[:, 1], hand[:, 0])
        q = np.column_stack([-r, np.zeros_like(r), -turn, theta])
        return 2.0 * pi * np.exp(sampler.log_density(q, (0.0, 0.0))) * arm.manipulability(theta)

    points = {name: rows.q[:, 3:] for name, rows in drawn.items()}
    labels = ("θ1 (rad)", "θ2 (rad)", "density of the joint angles (per rad²)")
    return _plane(edges, density, points, labels)


def _plane(
    edges: Sequence[Array],
    density: Callable[[Array], Array],
    points: Mapping[str, Array],
    labels: tuple[str, str, str],
) -> Plane:
    """A plane with the mean of a density of points (m, 2) over each cell, and with histograms."""
    x, y = edges
    fine = [_centres(np.linspace(e[0], e[-1], _FINE * (len(e) - 1) + 1)) for e in edges]
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(*fine)])
    true = density(grid).reshape(len(y) - 1, _FINE, len(x) - 1, _FINE).mean(axis=(1, 3))
    histograms = {name: _histogram(p, x, y) for name, p in points.items()}
    return Plane(x, y, {"true density": true} | histograms, labels)


def _density_of_distance(sampler: DonutSampler) -> tuple[Array, Array]:
    """Distances r (k,), m, and the density of the base's position there (k,), per m^2."""
    r = np.linspace(sampler.r_min, sampler.r_max, _DISTANCES)
    reach = min(pi, 8.0 * sampler.heading_sigma)
    delta = np.linspace(-reach, reach, _ERRORS)
    bases = np.stack(np.broadcast_arrays(-r[:, None], 0.0, delta), axis=-1).reshape(-1, 3)
    theta, valid = sampler.arm.ik_batch(bases, np.zeros(2))
    total = np.zeros(len(bases))
    for k in (0, 1):
        rows = valid[:, k]
        q = np.column_stack([bases, theta[:, k]])[rows]
        total[rows] += np.exp(sampler.log_density(q, (0.0, 0.0)))
    at = total.reshape(len(r), -1)  # integrated over the heading by the trapezoidal rule
    return r, np.asarray((at[:, 1:] + at[:, :-1]).sum(axis=1) * 0.5 * (delta[1] - delta[0]))


def _histogram(points: Array, x: Array, y: Array) -> Array:
    """Density (l, k) of points (m, 2) on cells with edges x and y; points may be outside."""
    counts = np.histogram2d(points[:, 0], points[:, 1], (x, y))[0].T
    return np.asarray(counts / (max(1, len(points)) * np.outer(np.diff(y), np.diff(x))))


def _centres(edges: Array) -> Array:
    return np.asarray(0.5 * (edges[1:] + edges[:-1]))


def draw_densities(path: Path | str, planes: Sequence[Plane]) -> None:
    """Draw planes as a PNG: a row for each plane, on one scale, a column for each density."""
    columns = len(planes[0].densities)
    with figure_file(path, (1.0 + 4.1 * columns, 0.5 + 4.1 * len(planes))) as figure:
        figure.set_layout_engine("constrained")
        grid = figure.subplots(len(planes), columns, squeeze=False)
        for row, plane in zip(grid, planes, strict=True):
            x_label, y_label, unit = plane.labels
            top = max(float(np.quantile(d, 0.999)) for d in plane.densities.values())
            # A square, even if the limits of one joint are narrower.
            ends = min(plane.x[0], plane.y[0]), max(plane.x[-1], plane.y[-1])
            for axes, (name, density) in zip(row, plane.densities.items(), strict=True):
                shown = np.where(density > _BLANK * top, density, np.nan)
                image = axes.pcolormesh(
                    plane.x, plane.y, shown, cmap="viridis", vmin=0.0, vmax=top, rasterized=True
                )
                axes.set(xlim=ends, ylim=ends, xlabel=x_label, aspect="equal")
                axes.set_title(name, fontsize=11)
            row[0].set_ylabel(y_label)
            figure.colorbar(image, ax=list(row), label=unit, extend="max", shrink=0.9, pad=0.015)


# -- the donut -------------------------------------------------------------------------------------


def draw_donut(path: Path | str, samples: BaseSamples, sampler: DonutSampler) -> None:
    """Draw base positions about the target, headings as arrows, and a few robots, as a PNG."""
    with figure_file(path, (7.4, 7.2)) as figure:
        figure.set_layout_engine("constrained")
        axes = figure.subplots()
        base = poses(samples)
        dots = base[:: max(1, len(base) // _MOST_DOTS)]
        axes.scatter(dots[:, 0], dots[:, 1], s=3, color=FAINT, alpha=0.45, linewidths=0)
        arrows = base[:: max(1, len(base) // _ARROWS)]
        axes.quiver(
            *arrows[:, :2].T,
            *_unit(arrows[:, 2]).T,
            angles="xy",
            scale=22,
            width=0.0026,
            color=INK,
            alpha=0.75,
        )
        _rings(axes, sampler)
        for row in _spread(base, samples.elbow, sampler):
            color = PLUS if samples.elbow[row] > 0 else MINUS
            draw_robot(axes, sampler.arm, base[row], samples.q[row, 3:], color)
        axes.plot(0, 0, "*", color="#e0a100", markersize=15, markeredgecolor=INK, zorder=6)
        axes.plot([], [], color=PLUS, lw=2.2, label="arm, elbow +")
        axes.plot([], [], color=MINUS, lw=2.2, label="arm, elbow −")
        axes.scatter([], [], s=14, color=FAINT, label="base")
        axes.scatter([], [], marker=r"$\rightarrow$", s=110, color=INK, label="heading")
        axes.plot([], [], "*", color="#e0a100", markeredgecolor=INK, ms=11, ls="", label="target H")
        _square(axes, 1.12 * sampler.arm.outer)
        axes.set_title(f"Base poses from which the arm reaches H: {len(samples):,} samples")
        figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9.5)


def draw_robot(axes: Any, arm: PlanarArm, base: Array, theta: Array, color: str) -> None:
    """Draw a robot: a rectangle with a circle at its front side, and the arm."""
    from matplotlib.patches import Circle, Polygon

    long, wide = 0.085 * arm.outer, 0.055 * arm.outer  # half of each side
    R = np.array([_unit(base[2]), _unit(base[2] + 0.5 * pi)])
    corners = np.array([[long, wide], [-long, wide], [-long, -wide], [long, -wide]]) @ R + base[:2]
    axes.add_patch(Polygon(corners, facecolor="white", edgecolor=INK, linewidth=1.3, zorder=4))
    front = base[:2] + long * R[0]
    axes.add_patch(Circle(front, 0.45 * wide, facecolor=INK, edgecolor="none", zorder=5))
    points = arm.chain.points(base, theta)
    axes.plot(*points.T, color=color, lw=2.2, marker="o", markersize=4, zorder=5)


def _rings(axes: Any, sampler: DonutSampler) -> None:
    turn = np.linspace(0.0, 2.0 * pi, 181)
    for r, name in ((sampler.r_min, "Ra"), (sampler.r_max, "Rb")):
        axes.plot(*(r * _unit(turn)).T, color=INK, lw=0.9, ls=":", zorder=3)
        text = f"{name} = {r:.2f} m"
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.2}
        axes.text(0, -r, text, ha="center", va="center", fontsize=8.5, bbox=box, zorder=7)


def _spread(base: Array, elbow: NDArray[np.int8], sampler: DonutSampler) -> list[int]:
    """Rows of robots to draw: all around the target, not over it, with alternating elbows."""
    angle, r = np.arctan2(base[:, 1], base[:, 0]), np.hypot(base[:, 0], base[:, 1])
    wanted = np.linspace(-pi, pi, _ROBOTS, endpoint=False) + 0.3
    aim = sampler.r_min + np.linspace(0.55, 0.95, _ROBOTS) * (sampler.r_max - sampler.r_min)
    cost = np.abs(np.exp(1j * angle) - np.exp(1j * wanted[:, None])) + np.abs(r - aim[:, None])
    cost += elbow == np.resize([[1], [-1]], (_ROBOTS, 1))
    return [int(row.argmin()) for row in cost] if len(base) else []


def _unit(angle: Any) -> NDArray[np.float64]:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _square(axes: Any, half: float) -> None:
    axes.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
    axes.set(xlabel="x − x of H (m)", ylabel="y − y of H (m)")
