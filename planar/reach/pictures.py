"""Pictures of p(Q | H) of the planar arm: where the base stands, and with which joint angles.

Each picture is drawn from numbers that a function here returns, so that a test can look at them.
Base positions are relative to the target, so that rows of many targets go into one picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.planar.reach import (
    DonutSampler,
    PlanarArm,
    Samples,
    Weighted,
    uniform_targets,
)
from galley.planar.reach.donut import base_and_angles
from galley.planar.reach.kept import distance
from galley.planar.reach.scores import SoftAcceptance, WeightedSum
from galley.planar.reach.weighted import Weight
from galley.viz.figures import figure_file

PLUS, MINUS, INK, FAINT = "#c8553d", "#2a7f9e", "#1d2b36", "#8b98a3"
_MOST_DOTS, _ARROWS, _ROBOTS = 4000, 180, 6
_BLANK = 2e-3  # part of the scale below which a density is left blank
_DISTANCES, _ERRORS = 300, 257  # nodes of the quadrature for the base's density


@dataclass(frozen=True)
class Plane:
    """Densities on the cells of a plane, side by side.

    Attributes:
        x, y: edges of the cells, (k + 1,) and (l + 1,). densities: (l, k) each, by name.
    """

    x: Array
    y: Array
    densities: Mapping[str, Array]


def poses(samples: Samples) -> Array:
    """Base poses (m, 3) relative to the target, headings in the world."""
    base, _ = base_and_angles(samples.q, samples.target)
    return np.column_stack([base[:, :2] - samples.target, base[:, 2]])


# -- densities -------------------------------------------------------------------------------------


def base_plane(sampler: DonutSampler, drawn: Mapping[str, Samples], cells: int = 64) -> Plane:
    """Density of the base's position (per m^2): the true one, and histograms of samples."""
    edges = np.linspace(-1.08 * sampler.arm.outer, 1.08 * sampler.arm.outer, cells + 1)
    fine = _centres(np.linspace(edges[0], edges[-1], 4 * cells + 1))
    r = np.hypot(*np.meshgrid(fine, fine))
    density = np.interp(r, *_density_of_distance(sampler), left=0.0, right=0.0)
    true = density.reshape(cells, 4, cells, 4).mean(axis=(1, 3))  # over each cell
    return Plane(
        edges,
        edges,
        {"true density": true}
        | {name: _histogram(poses(rows)[:, :2], edges, edges) for name, rows in drawn.items()},
    )


def joint_plane(sampler: DonutSampler, drawn: Mapping[str, Samples], cells: int = 72) -> Plane:
    """Density of the joint angles (per rad^2): the true one, and histograms of samples.

    With phi the direction of the base, dx dy dpsi = w dphi dtheta1 dtheta2, where w is the
    manipulability; the density does not depend on phi.

    Raises:
        ValueError: headings don't vary: then the angles lie on two curves.
    """
    if sampler.columns != 5:
        raise ValueError("where headings don't vary, the joint angles have no density in the plane")
    arm = sampler.arm
    (low1, high1), (low2, high2) = arm.limits or ((-pi, pi), (-pi, pi))
    x, y = np.linspace(low1, high1, cells + 1), np.linspace(low2, high2, cells + 1)
    grid = np.meshgrid(*(_centres(np.linspace(e[0], e[-1], 3 * cells + 1)) for e in (x, y)))
    theta = np.column_stack([each.ravel() for each in grid])
    hand = arm.fk(np.zeros((len(theta), 3)), theta)
    r = np.hypot(*hand.T)
    q = np.column_stack([-r, np.zeros_like(r), -np.arctan2(hand[:, 1], hand[:, 0]), theta])
    density = 2.0 * pi * np.exp(sampler.log_density(q, (0.0, 0.0))) * arm.manipulability(theta)
    true = density.reshape(cells, 3, cells, 3).mean(axis=(1, 3))
    return Plane(
        x,
        y,
        {"true density": true}
        | {name: _histogram(rows.q[:, -2:], x, y) for name, rows in drawn.items()},
    )


def _density_of_distance(sampler: DonutSampler) -> tuple[Array, Array]:
    """Distances r (k,), and the density of the base's position there (k,) (per m^2)."""
    r = np.linspace(sampler.r_min, sampler.r_max, _DISTANCES)
    reach = min(pi, 8.0 * sampler.sigma)
    delta = np.linspace(-reach, reach, _ERRORS) if sampler.columns == 5 else np.zeros(1)
    bases = np.stack(np.broadcast_arrays(-r[:, None], 0.0, delta), axis=-1).reshape(-1, 3)
    theta, valid = sampler.arm.ik_batch(bases, np.zeros(2))
    total = np.zeros(len(bases))
    columns = bases if sampler.columns == 5 else bases[:, :2]
    for k in (0, 1):
        some = valid[:, k]
        q = np.column_stack([columns, theta[:, k]])[some]
        total[some] += np.exp(sampler.log_density(q, (0.0, 0.0)))
    if sampler.columns == 4:
        return r, total
    each = total.reshape(len(r), -1)
    return r, np.asarray((each[:, 1:] + each[:, :-1]).sum(axis=1) * 0.5 * (delta[1] - delta[0]))


def _histogram(points: Array, x: Array, y: Array) -> Array:
    """Density (l, k) of points (m, 2), of which some may be outside; x and y are edges."""
    counts = np.histogram2d(points[:, 0], points[:, 1], (x, y))[0].T
    return np.asarray(counts / (max(1, len(points)) * np.outer(np.diff(y), np.diff(x))))


def _centres(edges: Array) -> Array:
    return np.asarray(0.5 * (edges[1:] + edges[:-1]))


def draw_densities(
    path: Path | str, planes: Sequence[Plane], labels: Sequence[tuple[str, str, str]]
) -> None:
    """One row for each plane, one column for each density, on one scale in each row.

    Args:
        labels: for each plane, of its x and y axis and of its colours.
    """
    columns = max(len(each.densities) for each in planes)
    with figure_file(path, (1.0 + 4.1 * columns, 0.5 + 4.1 * len(planes))) as figure:
        figure.set_layout_engine("constrained")
        grid = figure.subplots(len(planes), columns, squeeze=False)
        for row, plane, (x_label, y_label, unit) in zip(grid, planes, labels, strict=True):
            top = max(float(np.quantile(each, 0.999)) for each in plane.densities.values())
            for axes, (name, density) in zip(row, plane.densities.items(), strict=True):
                image = axes.pcolormesh(
                    plane.x,
                    plane.y,
                    np.where(density > _BLANK * top, density, np.nan),
                    cmap="viridis",
                    vmin=0.0,
                    vmax=top,
                    rasterized=True,
                )
                # A square, also where the limits of one joint are narrower.
                ends = min(plane.x[0], plane.y[0]), max(plane.x[-1], plane.y[-1])
                axes.set(xlim=ends, ylim=ends, aspect="equal", xlabel=x_label)
                axes.set_title(name, fontsize=11)
            row[0].set_ylabel(y_label)
            figure.colorbar(image, ax=list(row), label=unit, extend="max", shrink=0.9, pad=0.015)


# -- the donut and the joints ----------------------------------------------------------------------


def draw_donut(path: Path | str, samples: Samples, sampler: DonutSampler) -> None:
    """Base positions about the target, headings as arrows, and a few robots with their arm."""
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
            draw_robot(axes, sampler.arm, base[row], samples.q[row, -2:], color)
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
    """A rectangle with a circle at its front side, and the arm."""
    from matplotlib.patches import Circle, Polygon

    long, wide = 0.085 * arm.outer, 0.055 * arm.outer  # half of each side
    R = np.array([_unit(base[2]), _unit(base[2] + 0.5 * pi)])
    corners = np.array([[long, wide], [-long, wide], [-long, -wide], [long, -wide]]) @ R + base[:2]
    axes.add_patch(Polygon(corners, facecolor="white", edgecolor=INK, linewidth=1.3, zorder=4))
    front = base[:2] + long * R[0]
    axes.add_patch(Circle(front, 0.45 * wide, facecolor=INK, edgecolor="none", zorder=5))
    points = arm.chain.points(base, theta)
    axes.plot(*points.T, color=color, lw=2.2, marker="o", markersize=4, zorder=5)


def draw_joints(path: Path | str, samples: Samples, sampler: DonutSampler) -> None:
    """theta1 against theta2, the elbows apart, with limits and the angles that no base gives."""
    with figure_file(path, (7.4, 7.2)) as figure:
        figure.set_layout_engine("constrained")
        axes = figure.subplots()
        theta = samples.q[:, -2:]
        for sign, color, name in ((1, PLUS, "elbow +"), (-1, MINUS, "elbow −")):
            chosen = theta[samples.elbow == sign]
            share = 100 * len(chosen) / max(1, len(theta))
            dots = chosen[:: max(1, len(chosen) // _MOST_DOTS)]
            axes.scatter(*dots.T, s=4, color=color, alpha=0.35, linewidths=0)
            axes.scatter([], [], s=25, color=color, label=f"{name}: {share:.1f} % of the rows")
        (last, first), _ = sampler.arm.triangle(np.array([sampler.r_min, sampler.r_max]))
        gamma = np.linspace(first, last, 200)
        _, beta = sampler.arm.triangle(distance(sampler.arm, gamma))
        if sampler.heading == "facing":
            for sign in (1, -1):
                line = {"color": INK, "lw": 1.3, "ls": "--"}
                label = "base faces the target exactly" if sign > 0 else None
                axes.plot(-sign * beta, sign * gamma, label=label, **line)
        for low, high in ((-first, first), (last, pi), (-pi, -last)):
            axes.axhspan(low, high, color=FAINT, alpha=0.22, lw=0)
        axes.axhspan(
            9, 9, color=FAINT, alpha=0.22, lw=0, label="H would be nearer than Ra or beyond Rb"
        )
        if sampler.arm.limits is not None:
            (a, b), (c, d) = sampler.arm.limits
            axes.plot([a, b, b, a, a], [c, c, d, d, c], color=INK, lw=1.2, label="joint limits")
        wide = max(pi, np.abs(sampler.arm.limits or 0.0).max())
        axes.set(xlim=(-wide, wide), ylim=(-wide, wide), aspect="equal")
        axes.set(xlabel="θ1 (rad)", ylabel="θ2 (rad)", title=f"Joint angles: {len(theta):,} rows")
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9.5)


def _rings(axes: Any, sampler: DonutSampler) -> None:
    turn = np.linspace(0.0, 2.0 * pi, 181)
    for r, name in ((sampler.r_min, "Ra"), (sampler.r_max, "Rb")):
        axes.plot(*(r * _unit(turn)).T, color=INK, lw=0.9, ls=":", zorder=3)
        text = f"{name} = {r:.2f} m"
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.2}
        axes.text(0, -r, text, ha="center", va="center", fontsize=8.5, bbox=box, zorder=7)


def _spread(base: Array, elbow: NDArray[np.int8], sampler: DonutSampler) -> list[int]:
    """Rows of robots to draw: all around, elbows in turn, and not over the target."""
    angle, r = np.arctan2(base[:, 1], base[:, 0]), np.hypot(base[:, 0], base[:, 1])
    wanted = np.linspace(-pi, pi, _ROBOTS, endpoint=False) + 0.3
    aim = sampler.r_min + np.linspace(0.55, 0.95, _ROBOTS) * (sampler.r_max - sampler.r_min)
    cost = np.abs(np.exp(1j * angle) - np.exp(1j * wanted[:, None])) + np.abs(r - aim[:, None])
    cost += elbow == np.resize([[1], [-1]], (_ROBOTS, 1))
    return [int(row.argmin()) for row in cost] if len(base) else []


# -- coverage and keep rate ------------------------------------------------------------------------


@dataclass(frozen=True)
class Coverage:
    """Points (m, 2) each: hands of configurations drawn uniformly, targets drawn first, bases."""

    hands: Array
    targets: Array
    bases: Array


def coverage(samples: Samples, arm: PlanarArm, bounds: Any, rng: np.random.Generator) -> Coverage:
    """Samples beside as many configurations with base and joints uniform, base within bounds."""
    n = len(samples)
    low, high = np.array(arm.limits or ((-pi, pi), (-pi, pi))).T
    base = np.column_stack([uniform_targets(bounds, n, rng), rng.uniform(-pi, pi, n)])
    hands = arm.fk(base, rng.uniform(low, high, (n, 2)))
    return Coverage(hands, samples.target, samples.q[:, :2])


def draw_coverage(path: Path | str, points: Coverage, bounds: Any, reach: float) -> None:
    """Where the hand goes if Q is drawn first, if H is; and where the bases of these stand."""
    box = np.asarray(bounds, dtype=np.float64)
    x, y = (_edges(low, high, reach) for low, high in box)
    area = float(np.prod(box[:, 1] - box[:, 0]))
    names = {
        "Q drawn first: where the hand is": points.hands,
        "H drawn first: the targets": points.targets,
        "H drawn first: the bases": points.bases,
    }
    with figure_file(path, (13.2, 4.6)) as figure:
        figure.set_layout_engine("constrained")
        row = figure.subplots(1, 3, sharey=True)
        for axes, (name, each) in zip(row, names.items(), strict=True):
            ratio = area * _histogram(each, x, y)
            shown = np.where(ratio > 0.0, ratio, np.nan)
            image = axes.pcolormesh(x, y, shown, cmap="viridis", vmin=0.0, vmax=1.3)
            (a, b), (c, d) = box
            axes.plot([a, b, b, a, a], [c, c, d, d, c], color="#e0a100", lw=1.6, ls="--")
            axes.set(aspect="equal", xlabel="x (m)")
            axes.set_title(name, fontsize=11)
        row[0].set_ylabel("y (m)")
        label = "density over that of a uniform\ndistribution in the bounds (dashed)"
        figure.colorbar(image, ax=list(row), label=label, extend="max", pad=0.015)


def _edges(low: float, high: float, beyond: float) -> Array:
    """Edges of cells from ``beyond`` below ``low``, to as much above ``high``; both are edges."""
    step = max((high - low) / 30, 1e-9)
    more = int(min(np.ceil(beyond / step), 300))
    return np.asarray(low + step * np.arange(-more, 31 + more))


@dataclass(frozen=True)
class KeepRates:
    """Shares within the limits, of elbow + and of elbow -.

    Attributes:
        sigma: (k,) (rad). closed: (k, 2). at: (j,) (rad). sampled: (j, 2). bases: of each sample.
    """

    sigma: Array
    closed: Array
    at: Array
    sampled: Array
    bases: int

    @property
    def error(self) -> Array:
        """Standard errors (j, 2) of the sampled shares."""
        return np.sqrt(self.sampled * (1.0 - self.sampled) / self.bases)


def keep_rates(
    sampler: DonutSampler, bases: int, rng: np.random.Generator, count: int = 41
) -> KeepRates:
    """At ``count`` sigmas from 0 to pi by the closed form, and at every fourth by sampling."""
    both = replace(sampler, branches="both", heading="facing")
    sigma = np.linspace(0.0, pi, count)
    at = sigma[::4]
    closed = [replace(both, heading_sigma=float(each)).keep_rates() for each in sigma]
    sampled = []
    for each in at:
        elbow = replace(both, heading_sigma=float(each)).sample((0.0, 0.0), bases, rng).elbow
        sampled.append([np.mean(elbow > 0) * len(elbow), np.mean(elbow < 0) * len(elbow)])
    return KeepRates(sigma, np.array(closed), at, np.array(sampled) / bases, bases)


def draw_keep_rates(path: Path | str, rates: KeepRates, limits: Any) -> None:
    """Lines are closed, points with 95 % intervals are sampled."""
    with figure_file(path, (7.4, 5.0)) as figure:
        figure.set_layout_engine("constrained")
        axes = figure.subplots()
        for k, (name, color) in enumerate((("elbow +", PLUS), ("elbow −", MINUS))):
            axes.plot(rates.sigma, 100 * rates.closed[:, k], color=color, label=name)
            bars = 196 * rates.error[:, k]
            style: dict[str, Any] = {"color": color, "marker": "o", "ms": 5, "ls": "", "capsize": 3}
            axes.errorbar(rates.at, 100 * rates.sampled[:, k], yerr=bars, **style)
        axes.plot(rates.sigma, 100 * rates.closed.mean(axis=1), color=INK, ls="--", label="both")
        text = f"sampled, {rates.bases:,} bases each"
        axes.errorbar([], [], yerr=[], color=FAINT, marker="o", ms=5, ls="", label=text)
        (a, b), (c, d) = limits
        axes.set_title(f"θ1 in [{a:.2f}, {b:.2f}], θ2 in [{c:.2f}, {d:.2f}] rad", fontsize=11)
        axes.set(xlabel="σ of the heading's error (rad)", ylabel="within the joint limits (%)")
        axes.set(xlim=(-0.05, pi + 0.05), ylim=(0, 104))
        axes.grid(alpha=0.25)
        figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9.5)


# -- scores ----------------------------------------------------------------------------------------


def scored_plane(
    sampler: DonutSampler, scored: Mapping[str, Weight], bases: int, rng: np.random.Generator
) -> tuple[Plane, dict[str, float]]:
    """Density of the base under each score by itself, and the share of the rows that it keeps.

    A row is kept with the probability of its score, for H = (0, 0); the first entry has no score.
    """
    rows = {"no score": sampler.sample((0.0, 0.0), bases, rng)}
    shares = {"no score": 1.0}
    for name, score in scored.items():
        law = Weighted(sampler, (SoftAcceptance(WeightedSum(((1.0, score),))),))
        rows[name] = law.sample((0.0, 0.0), bases, rng)
        shares[name] = len(rows[name]) / max(1, len(rows["no score"]))
    plane = base_plane(sampler, rows, cells=44)
    return Plane(plane.x, plane.y, {name: plane.densities[name] for name in rows}), shares


def draw_scores(
    path: Path | str,
    plane: Plane,
    shares: Mapping[str, float],
    marks: Mapping[str, Sequence[tuple[float, float, float]]],
) -> None:
    """Where the base stands under each score, all on one scale.

    Args:
        shares: of the rows that each score keeps, by the names of the densities.
        marks: circles x, y, radius (m) to draw on a panel, by the same names; radius 0: a cross.
    """
    from matplotlib.patches import Circle

    columns = min(4, len(plane.densities))
    rows = -(-len(plane.densities) // columns)
    top = max(float(np.quantile(each, 0.998)) for each in plane.densities.values())
    with figure_file(path, (1.2 + 3.0 * columns, 0.5 + 3.3 * rows)) as figure:
        figure.set_layout_engine("constrained")
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for axes in grid.flat[len(plane.densities) :]:
            axes.set_visible(False)
        for axes, (name, density) in zip(grid.flat, plane.densities.items(), strict=False):
            shown = np.where(density > _BLANK * top, density, np.nan)
            image = axes.pcolormesh(plane.x, plane.y, shown, cmap="viridis", vmin=0.0, vmax=top)
            axes.plot(0, 0, "*", color="#e0a100", markersize=11, markeredgecolor=INK)
            for x, y, radius in marks.get(name, ()):
                if radius > 0.0:
                    axes.add_patch(Circle((x, y), radius, fc="#dddddd", ec=PLUS, lw=1.6))
                else:
                    axes.plot(x, y, "X", color=PLUS, markersize=10, markeredgecolor="white")
            axes.set_title(f"{name}\nkeeps {100 * shares[name]:.0f} %", fontsize=10)
            axes.set_aspect("equal")
        for axes in grid[:, 0]:
            axes.set_ylabel("y − y of H (m)")
        for axes in grid[-1]:
            axes.set_xlabel("x − x of H (m)")
        figure.colorbar(image, ax=grid, label="density of the base (per m²)", extend="max")


# -- hands -----------------------------------------------------------------------------------------


def draw_hands(path: Path | str, misses: Mapping[str, Array]) -> None:
    """Where the hand is relative to H, and how many hands are how near.

    Args:
        misses: (m, 2) (m), by the name of what drew them; at most two.
    """
    from matplotlib.patches import Circle

    half, near, least, most = 0.15, 0.01, 1e-4, 3.0  # m
    with figure_file(path, (11.0, 5.0)) as figure:
        figure.set_layout_engine("constrained")
        plane, shares = figure.subplots(1, 2)
        for (name, miss), color in zip(misses.items(), (PLUS, MINUS), strict=False):
            distance = np.sort(np.hypot(*miss.T))
            within = 100.0 * np.searchsorted(distance, near, side="right") / len(distance)
            label = f"{name}: {within:.1f} % within 1 cm"
            plane.plot(*miss[:_MOST_DOTS].T, ".", color=color, ms=3, alpha=0.5)
            x = np.geomspace(least, most, 400)
            rise = 100.0 * np.searchsorted(distance, x, side="right") / len(distance)
            shares.plot(x, rise, color=color, label=label)
        plane.add_patch(Circle((0, 0), near, fill=False, ec=INK, lw=1.4, zorder=3))
        plane.set_title("the hand, and a circle of 1 cm about H", fontsize=11)
        _square(plane, half)
        shares.axvline(near, color=FAINT, ls="--")
        shares.set(xscale="log", xlim=(least, most), ylim=(0, 104))
        shares.set(xlabel="distance of the hand from H (m)", ylabel="samples that near (%)")
        shares.grid(alpha=0.25)
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9.5)


def _unit(angle: Any) -> NDArray[np.float64]:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _square(axes: Any, half: float) -> None:
    axes.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
    axes.set(xlabel="x − x of H (m)", ylabel="y − y of H (m)")
