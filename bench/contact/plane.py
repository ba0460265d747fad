"""The planar contact model: gradients, speed, order, and peers: ``python bench/contact/plane.py``.

With a file name as its argument it writes all figures there as JSON.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from math import atan, cos, sin, sqrt
from pathlib import Path
from statistics import median
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from galley.bench.report import Target, conclude, table
from galley.planar.contact import (
    Body2D,
    Box,
    Circle,
    Contact,
    HalfPlane,
    Polygon,
    World,
    regular_polygon,
    simulate,
)

G, STEPS, BATCH = 9.81, 100, 256
L_SHAPE = 0.5 * np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]])
# Kind of shape, points, what it is made of, m.
SHAPES: dict[str, tuple[Any, int, Any]] = {
    "circle": (Circle, 1, np.array(0.5)),
    "circle, 10 points": (Circle, 10, np.array(0.5)),
    "box": (Box, 12, np.array([0.5, 0.4])),
    "hexagon": (Polygon, 12, regular_polygon(6, 0.5).vertices),
    "L": (Polygon, 12, L_SHAPE),
}
PARAMETERS = {
    "mass": 0.4,
    "friction": 0.3,
    "stiffness": 800.0,
    "damping": 60.0,
    "size": 1.0,
    "pose": np.array([0.0, 0.6, 0.2]),
    "velocity": np.array([1.0, -1.0, 0.5]),
}


def world_of(p: dict[str, Any], shape: Any, count: int, outline: Any) -> World:
    """A body above the ground."""
    body = Body2D(shape(p["size"] * outline), p["mass"], pose=p["pose"], velocity=p["velocity"])
    contact = Contact(p["stiffness"], p["damping"], 100.0, p["friction"], count=count)
    return World([body, Body2D(HalfPlane())], contact)


def seconds(run: Callable[[], Any], times: int = 7) -> float:
    """Median of some runs."""
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        spent.append(time.perf_counter() - began)
    return median(spent)


def measured(name: str) -> dict[str, Any]:
    """One shape: errors of the gradient, and speed of all kinds of runs."""
    shape, count, outline = SHAPES[name]
    rng = np.random.default_rng(0)
    controls = rng.normal(0, 1.0, (STEPS, 3)) * [1.0, 1.0, 0.1]

    def cost(p: dict[str, Any]) -> Any:
        run = simulate(world_of(p, shape, count, outline), p["controls"], 0.01)
        force = jnp.sum(run.contacts.force[1:] ** 2) / STEPS
        return jnp.dot(run.pose[-1, 0], jnp.array([1.0, 2.0, 0.5])) + 0.1 * force

    p = {**PARAMETERS, "controls": controls}
    errors = {}
    with jax.enable_x64(True):
        p = jax.tree.map(jnp.asarray, p)
        world = eqx.filter_jit(lambda p: world_of(p, shape, count, outline))(p)
        many = jnp.linspace(0.5, 1.0, BATCH)[:, None, None] * p["controls"]

        def states(controls: Any) -> Any:
            return simulate(world, controls, 0.01).pose

        functions = (cost, jax.value_and_grad(cost), jax.vmap(states))
        runs, spent, compiling = [], [], []
        for function, given in zip(functions, (p, p, many), strict=True):
            began = time.perf_counter()
            runs.append(jax.jit(function).lower(given).compile())
            compiling.append(time.perf_counter() - began)
            spent.append(seconds(partial(_finished, runs[-1], given)))
        _, found = runs[1](p)
        for key, value in p.items():
            # Along one direction each: all the numbers of an array at once.
            direction = rng.normal(size=value.shape) if value.ndim else np.array(1.0)
            step = 1e-6 * max(1.0, float(np.max(np.abs(value))))
            ends = [runs[0]({**p, key: value + s * step * direction}) for s in (1, -1)]
            difference = (ends[0] - ends[1]) / (2 * step)
            errors[key] = float(abs(np.sum(found[key] * direction) / difference - 1.0))
    return {
        "errors": errors,
        "steps_per_s": STEPS / spent[0],
        "gradient_ms": 1e3 * spent[1],
        "gradient_x": spent[1] / spent[0],
        "batch_steps_per_s": BATCH * STEPS / spent[2],
        "compile_s": compiling,
    }


def _finished(run: Callable[[Any], Any], given: Any) -> None:
    jax.block_until_ready(run(given))


def gradients(raw: dict[str, Any]) -> list[Target]:
    """Against central differences, and what a gradient and a batch cost."""
    rows = []
    for name in SHAPES:
        raw[name] = r = measured(name)
        rows.append(
            [
                name,
                f"{r['errors']['controls']:.1e}",
                f"{max(r['errors'].values()):.1e}",
                f"{r['steps_per_s']:.0f}",
                f"{r['gradient_ms']:.1f}",
                f"{r['gradient_x']:.1f}",
                f"{r['batch_steps_per_s']:.0f}",
                *(f"{each:.1f}" for each in r["compile_s"]),
            ]
        )
    heads = ["shape", "error, controls", "worst", "steps/s", "gradient ms", "x forward"]
    heads += [f"steps/s of {BATCH}", "compile s", "gradient", f"{BATCH}"]
    table(heads, rows)
    worst = max(max(raw[name]["errors"].values()) for name in SHAPES)
    ratio = max(raw[name]["gradient_x"] for name in SHAPES)
    rates = {name: raw[name]["batch_steps_per_s"] for name in SHAPES}
    ten = rates.pop("circle, 10 points")
    return [
        Target.at_most("gradient against central differences", 1e-5, worst, ""),
        Target.at_most("gradient of 100 steps, times forward", 6.0, ratio, "x"),
        Target.at_least("steps/s of 256, one point or perimeter", 2e4, min(rates.values()), ""),
        Target.at_least("steps/s of 256, ten virtual contacts", 2e4, ten, ""),
    ]


def orders(raw: dict[str, Any]) -> list[Target]:
    """A disc that swings on its spring without leaving it."""
    mass, radius, k = 0.7, 0.3, 1000.0
    contact = Contact(k, 0.0, 1.0, 0.0)
    depth = mass * G / k - 1e-3
    exact = radius - depth + 0.5 * depth * cos(sqrt(k / mass) * 0.1)
    rows, targets = [], []
    for scheme, order in (("bdf1", 1.0), ("bdf2", 2.0)):
        errors = []
        for steps in (100, 200, 400):
            body = Body2D(Circle(radius), mass, pose=(0, radius - 0.5 * depth, 0))
            world = World([body, Body2D(HalfPlane())], contact)
            run = simulate(world, h=0.1 / steps, n=400, scheme=scheme)  # compiled once
            errors.append(abs(float(run.pose[steps, 0, 1]) - exact))
        found = float(np.log2(errors[1] / errors[2]))
        raw[scheme] = errors
        rows.append([scheme, *(f"{each:.1e}" for each in errors), f"{found:.3f}"])
        off = abs(found - order)
        targets.append(Target.at_most(f"order of {scheme}, off {order:g} by", 0.1, off, ""))
    table(["error (m) after 0.1 s", "100 steps", "200", "400", "order"], rows)
    return targets


def ours(angle: float, friction: float, h: float, n: int, block: bool) -> Callable[[], Any]:
    """A block on a ramp, or a ball dropped from 0.5 m above its rest; velocities (n + 1, 2)."""
    direction = np.array([-sin(angle), cos(angle)])
    ramp = Body2D(HalfPlane(direction))
    if block:
        contact = Contact(1e5, 1e4, 1e4, friction, softness=1e-6, count=4)
        body = Body2D(Box((0.2, 0.1)), 1.0, pose=(*(0.1 * direction), angle))
    else:
        contact = Contact(1e4, 0.0, 0.0, 0.0, softness=1e-5)
        body = Body2D(Circle(0.1), 1.0, pose=(0, 0.6, 0))
    world = World([body, ramp], contact)
    return lambda: simulate(world, h=h, n=n).pose[:, 0]


def pymunk_run(angle: float, friction: float, h: float, n: int, block: bool) -> Callable[[], Any]:
    """The same in pymunk (Chipmunk: impulses, Baumgarte stabilisation)."""
    import pymunk

    def run() -> Any:
        space = pymunk.Space()
        space.gravity = (0, -G)
        along = np.array([cos(angle), sin(angle)])
        ends = [tuple(map(float, s * 50 * along)) for s in (-1, 1)]
        ground = pymunk.Segment(space.static_body, *ends, 0.0)
        ground.friction, ground.elasticity = 1.0, 1.0
        if block:
            body = pymunk.Body(1.0, pymunk.moment_for_box(1.0, (0.4, 0.2)))
            shape: Any = pymunk.Poly.create_box(body, (0.4, 0.2))
            body.position, body.angle = (-0.1 * sin(angle), 0.1 * cos(angle)), angle
            shape.friction = friction
        else:
            body = pymunk.Body(1.0, pymunk.moment_for_circle(1.0, 0.0, 0.1))
            shape = pymunk.Circle(body, 0.1)
            body.position = (0, 0.6)
            shape.elasticity = 1.0
        space.add(ground, body, shape)
        seen = [tuple(body.position)]
        for _ in range(n):
            space.step(h)
            seen.append(tuple(body.position))
        return np.array(seen)

    return run


def mujoco_run(angle: float, friction: float, h: float, n: int, block: bool) -> Callable[[], Any]:
    """The same in MuJoCo (convex soft constraints; the ball on an undamped spring)."""
    import mujoco

    z = f"{0.1 * cos(angle)}" if block else "0.6"
    x = f"{-0.1 * sin(angle)}" if block else "0"
    turn = np.degrees(angle)
    solref = "0.004 1" if block else "-10000 0"
    geom = 'type="box" size="0.2 0.2 0.1"' if block else 'type="sphere" size="0.1"'
    cone = "elliptic" if block else "pyramidal"
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{h}" gravity="0 0 -{G}" cone="{cone}" impratio="10"/>
        <default><geom solref="{solref}" friction="{max(friction, 1e-5)} 0 0" priority="0"
        condim="{3 if block else 1}"/></default><worldbody>
        <geom type="plane" size="50 50 1" euler="0 {-turn} 0"/>
        <body pos="{x} 0 {z}" euler="0 {-turn} 0"><freejoint/><geom {geom} mass="1"/></body>
        </worldbody></mujoco>"""
    )

    def run() -> Any:
        data = mujoco.MjData(model)
        seen = [data.qpos[[0, 2]].copy()]
        for _ in range(n):
            mujoco.mj_step(model, data)
            seen.append(data.qpos[[0, 2]].copy())
        return np.array(seen)

    return run


def peers(raw: dict[str, Any]) -> list[Target]:
    """A block that slides down a ramp, and a ball that bounces without loss."""
    h, n, friction = 0.002, 500, 0.3
    angle = atan(friction) + 0.2
    acceleration = G * (sin(angle) - friction * cos(angle))
    rows = []
    for name, make in (("galley", ours), ("pymunk", pymunk_run), ("MuJoCo", mujoco_run)):
        try:
            slide, ball = make(angle, friction, h, n, True), make(0.0, 0.0, h, n, False)
            path, height = slide()[:, :2], ball()[:, 1]
        except ImportError:
            rows.append([name, *["not installed"] * 4])
            continue
        way = float((path[-1] - path[0]) @ [-cos(angle), -sin(angle)])
        off = abs(way / (acceleration * (n * h) ** 2 / 2) - 1.0)
        low = int(np.argmin(height[:300]))
        apex = abs(float(np.max(height[low:])) - 0.6) / 0.5
        rates = [n / seconds(each, 5) for each in (slide, ball)]
        raw[name] = {"incline": off, "bounce": apex, "steps_per_s": rates}
        rows.append([name, f"{off:.1e}", f"{apex:.1e}", *(f"{rate:.0f}" for rate in rates)])
    heads = [f"h = {h} s", "incline: error of the way in 1 s", "ball: error of the rebound"]
    table([*heads, "incline, steps/s", "ball"], rows)
    return []


if __name__ == "__main__":
    figures: dict[str, Any] = {}
    found = [*gradients(figures), *orders(figures), *peers(figures)]
    conclude(figures, found, Path(sys.argv[1]) if len(sys.argv) > 1 else None)
