"""The finger: events against closed forms, and speed: ``python bench/contact/finger.py``."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import acosh, exp, inf, sqrt

import gymnasium

from galley.bench.report import table
from galley.planar.finger import Drag, Finger, Policy, Simulation, Solver, Start, Trace, simulate
from galley.planar.finger.environment import ID
from galley.planar.finger.examples import EXAMPLES

TIGHT = Solver(rtol=1e-12, atol=1e-14)
FREE = {"finger_drag": Drag(), "object_drag": Drag()}


def cases() -> list[tuple[str, Callable[[Solver], Trace], Callable[[Trace], float], float]]:
    """Name, run, what is looked at, and its closed form."""
    wall = Finger(2.0, inf, 0.5, gap=0.7, **FREE)
    a, u = 1.5, sqrt(2 * 1.5 * 0.7)
    end = u / a + 2 * 0.5 * u / (a * 0.5)
    ice = Finger(1.0, 3.0, 0.6, 0.0, 0.0, 0.5, **FREE)
    w = sqrt(2 * 2.0 * 0.5)
    stick = Finger(static_friction=3.0, kinetic_friction=2.0, gap=0.0)
    slide = Finger(1.0, 4.0, 0.5, 3.0, 2.0, 0.0, **FREE)

    def bounce(solver: Solver) -> Trace:
        return simulate(wall, 3.0, end + 1.0, solver=solver)

    def push(solver: Solver) -> Trace:
        return simulate(ice, 2.0, 6.0, solver=solver)

    def coast(solver: Solver) -> Trace:
        return simulate(Finger(), 0.0, 3.0, Start(finger_velocity=2.0), solver=solver)

    def press(solver: Solver) -> Trace:
        return simulate(Finger(), 0.49, 5.0, solver=solver)

    def slip(solver: Solver) -> Trace:
        return simulate(stick, lambda t: 0.1 + t * t, 1.8, solver=solver)

    def stop(solver: Solver) -> Trace:
        return simulate(slide, [(0, 9.0), (1, 9.0), (1, -9.0)], 4.0, solver=solver)

    speed = 7.0 / 5.0  # (9 - 2) / (1 + 4) for 1 s
    return [
        ("touch, constant force: time", bounce, lambda r: r.events[0].time, u / a),
        ("its impulse", bounce, lambda r: r.events[0].impulse, 2.0 * 1.5 * u),
        ("all bounces off a wall: end", bounce, lambda r: r.events[-1].time, end),
        ("their impulse", bounce, Trace.impulse, 2.0 * 1.5 * u / 0.5),
        ("bounces into a push: end", push, _settled, w / 2 + 2 * 0.6 * w / (2.0 * 0.4)),
        ("their impulse", push, Trace.impulse, 0.75 * 1.6 * w / 0.4),
        ("coast, quadratic drag: time", coast, lambda r: r.events[0].time, (exp(1.5) - 1) / 2),
        ("speed", coast, lambda r: r.events[0].closing_speed, 2 * exp(-1.5)),
        ("force and drag: time", press, lambda r: r.events[0].time, acosh(exp(1.5)) / 0.7),
        ("speed", press, lambda r: r.events[0].closing_speed, 0.7 * sqrt(1 - exp(-3.0))),
        ("slip under a rising force: time", slip, lambda r: r.events[0].time, sqrt(2.9)),
        ("slide to a stop: time", stop, _stopped, 1.0 + speed / 0.5),
    ]


def _settled(run: Trace) -> float:
    return next(e.time for e in run.events if e.kind == "settle")


def _stopped(run: Trace) -> float:
    return next(e.time for e in run.events if e.kind == "stop")


def accuracy() -> None:
    """Relative errors of event times, speeds and impulses."""
    rows = []
    for name, run, found, exact in cases():
        errors = [abs(found(run(solver)) / exact - 1.0) for solver in (Solver(), TIGHT)]
        rows.append([name, f"{exact:.6f}", *(f"{error:.1e}" for error in errors)])
    table(["against closed forms", "exact", "rel. error, default", "rtol 1e-12"], rows)


def speed() -> None:
    """Events and control steps per second, best of three."""
    elastic = Finger(object_mass=inf, restitution=1.0, gap=0.01, finger_drag=Drag())

    def bouncing() -> int:
        return len(simulate(elastic, 1.0, 20.0).events)

    def stepped() -> int:
        run = Simulation(EXAMPLES["push"].finger)
        for k in range(500):
            run.advance(EXAMPLES["push"].force(0.02 * k), 0.02 * (k + 1))
        return 500

    def policy() -> int:
        simulate(EXAMPLES["push"].finger, Policy(lambda s: 0.5 if s.time < 5 else 14.0), 10.0)
        return 500

    rows = []
    for name, what, unit in (
        ("an elastic finger at a wall", bouncing, "events (touch, turn)"),
        ("the push, stepped at 50 Hz", stepped, "control steps"),
        ("the push, a policy at 50 Hz", policy, "control steps"),
    ):
        best, count = inf, 0
        for _ in range(3):
            began = time.perf_counter()
            count = what()
            best = min(best, time.perf_counter() - began)
        rows.append([name, f"{count / best:.0f}", unit])
    for name, example in EXAMPLES.items():
        began = time.perf_counter()
        run = simulate(example.finger, example.force, example.t_end)
        spent = time.perf_counter() - began
        rows.append([f"galley touch {name}", f"{run.end / spent:.0f}", "simulated s / s"])
    table(["speed", "per second", "of"], rows)


def environment() -> None:
    """Steps of the Gymnasium environment per second, with random actions."""
    rows = []
    for name, make, count in (
        ("one", lambda: gymnasium.make(ID, task="push"), 1),
        ("SyncVectorEnv of 8", lambda: gymnasium.make_vec(ID, 8, "sync", task="push"), 8),
    ):
        env = make()
        env.reset(seed=0)
        env.action_space.seed(0)
        began = time.perf_counter()
        for _ in range(500):
            _, _, ended, late, _ = env.step(env.action_space.sample())
            if count == 1 and (ended or late):
                env.reset()
        rows.append([name, f"{500 * count / (time.perf_counter() - began):.0f}"])
    table(["environment, push", "steps per second"], rows)


if __name__ == "__main__":
    accuracy()
    speed()
    environment()
