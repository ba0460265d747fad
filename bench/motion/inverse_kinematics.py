"""Inverse kinematics of the Panda: ours against ssik and EAIK, on the same random poses.

    pip install ssik==8.2.0 eaik==1.2.2
    python bench/motion/inverse_kinematics.py [--poses 500] [--repeats 7]

The poses are those of configurations drawn within the limits, so each has a solution. A pose
counts as solved if a solution within the limits puts the flange within 1 mm and 0.01 rad of it;
solutions are counted likewise. Ours and EAIK try 72 values of joint 7, one robot of EAIK's for each
(made beforehand, its axis locked); ssik chooses its own. What is timed: ours and ssik from the pose
to the configurations within the limits; EAIK without looking at limits, which it leaves to the
caller. The solvers take turns; the median of the repeats is shown, after a first that is not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from galley.bench.report import Section, Target, installed, table
from galley.domain.frames import angle_between
from galley.robots.panda.ik import LIMITS
from galley.robots.panda.kinematics import forward, inverse_batch, link_frames

VALUES = 72  # of joint 7
Q7 = np.linspace(LIMITS.lower[6], LIMITS.upper[6], VALUES)
Solve = Callable[[np.ndarray], Any]  # a flange pose X_AF (4, 4) to whatever the solver returns
Read = Callable[[Any], np.ndarray]  # that to configurations (k, 7)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--poses", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    _, targets = measure(arguments.poses, arguments.repeats)
    for target in targets:
        shown = "not measured" if target.figure is None else f"{target.figure:.4g}"
        print(f"{target.what}: {shown} (wanted {target.wanted})")
    return 0


def measure(poses: int = 500, repeats: int = 7) -> Section:
    """Prints the table; returns its figures by solver, and the targets.

    Figures of a solver: ``us`` and ``us_repeats`` for a pose, ``solutions`` for a pose, ``solved``
    (share), ``worst_m`` and ``worst_rad`` of what counts as solved, ``version``.
    """
    rng = np.random.default_rng(0)
    X = forward(rng.uniform(LIMITS.lower, LIMITS.upper, (poses, 7)))
    solvers = {"galley": ours(), "ssik": ssik(), "eaik": eaik()}
    present = {name: pair for name, pair in solvers.items() if pair is not None}
    figures = {name: judged(*pair, X) for name, pair in present.items()}
    for name, figure in figures.items():
        package = "galley-tamp" if name == "galley" else name
        figure["version"] = installed(package).get(package, "")
    times: dict[str, list[float]] = {name: [] for name in present}
    for _ in range(repeats + 1):
        for name, (solve, _) in present.items():
            began = perf_counter()
            for pose in X:
                solve(pose)
            times[name].append((perf_counter() - began) / poses * 1e6)
    for name, taken in times.items():
        figures[name]["us_repeats"] = taken[1:]
        figures[name]["us"] = median(taken[1:])
    ratios = {name: figure["us"] / figures["galley"]["us"] for name, figure in figures.items()}
    table(
        ["inverse kinematics", "us a pose", "ratio", "solutions", "solved", "worst mm"],
        [
            [
                f"{name} {figure['version']}",
                f"{figure['us']:.1f}",
                f"{ratios[name]:.1f}",
                f"{figure['solutions']:.1f}",
                f"{100 * figure['solved']:.1f} %",
                f"{1e3 * figure['worst_m']:.1e}",
            ]
            for name, figure in figures.items()
        ],
    )
    more = None
    if "ssik" in figures:
        more = figures["galley"]["solutions"] / figures["ssik"]["solutions"]
    return figures, [
        Target.at_least("inverse kinematics, ssik's time", 8, ratios.get("ssik")),
        Target.at_least("its solutions, against ssik's", 1, more),
        Target.at_least("poses solved", 99.8, 100 * figures["galley"]["solved"], " %"),
    ]


def ours() -> tuple[Solve, Read]:
    """The compiled closed form."""
    return (lambda X: inverse_batch(X, Q7)), (lambda found: found.q)


def ssik() -> tuple[Solve, Read] | None:
    """ssik's solver made for this arm."""
    try:
        from ssik.prebuilt.franka import panda_ik
    except ImportError:
        return None
    return panda_ik.solve, lambda found: np.array([s.q for s in found]).reshape(-1, 7)


def eaik() -> tuple[Solve, Read] | None:
    """EAIK's solver for six joints, once for each value of joint 7."""
    try:
        from eaik.IK_HP import HPRobot
    except ImportError:
        return None
    frames = link_frames(np.zeros(7))  # joint k turns about z of frame k
    axes, origins = frames[1:8, :3, 2], frames[1:9, :3, 3]
    offsets = np.diff(origins, axis=0, prepend=np.zeros((1, 3)))
    robots = [HPRobot(axes, offsets, [(6, float(q7))]) for q7 in Q7]
    at_zero = np.eye(4)
    at_zero[:3, :3] = frames[8, :3, :3].T  # its flange is turned like the base at q = 0

    def solve(X: np.ndarray) -> list[Any]:
        target = X @ at_zero
        return [robot.IK(target) for robot in robots]

    def read(found: list[Any]) -> np.ndarray:
        q = np.concatenate([np.reshape(solutions.Q, (-1, 7)) for solutions in found])
        middle = 0.5 * (LIMITS.lower + LIMITS.upper)
        return q - 2.0 * np.pi * np.round((q - middle) / (2.0 * np.pi))

    return solve, read


def judged(solve: Solve, read: Read, X: np.ndarray) -> dict[str, Any]:
    """What a solver's solutions are worth, whatever it says of them itself."""
    solutions, solved, worst_m, worst_rad = 0, 0, 0.0, 0.0
    for pose in X:
        q = read(solve(pose))
        q = q[np.all((q >= LIMITS.lower - 1e-9) & (q <= LIMITS.upper + 1e-9), axis=1)]
        reached = forward(q)
        off = np.linalg.norm(reached[:, :3, 3] - pose[:3, 3], axis=1)
        turned = np.array([angle_between(Y[:3, :3], pose[:3, :3]) for Y in reached])
        good = (off < 1e-3) & (turned < 0.01)
        solutions += int(good.sum())
        solved += bool(good.any())
        worst_m = max(worst_m, off[good].max(initial=0.0))
        worst_rad = max(worst_rad, turned[good].max(initial=0.0))
    return {
        "solutions": solutions / len(X),
        "solved": solved / len(X),
        "worst_m": worst_m,
        "worst_rad": worst_rad,
    }


if __name__ == "__main__":
    sys.exit(main())
