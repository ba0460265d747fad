"""What touch tells: an object's parameters from the finger's motion and its sensor alone.

    python examples/touch/identify.py

The finger comes up, bounces off the object and pushes it until it slides. Then candidate parameters
are simulated, and must move and feel as the finger did. Both are compared as means over intervals,
displacement / h and felt impulse / h, which change smoothly where an impact moves from one sample
to the next; values at instants would jump.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from galley.planar.finger import Finger, Solver, simulate

PERIOD, COUNT, NOISE = 0.04, 100, 0.01  # s; intervals; as a share of each channel's peak
# (s, N), joined by lines.
PUSH = [(0, 0.6), (1, 0.6), (1, 0.1), (2, 0.1), (3, 1.5), (3.6, 1.8), (4, 0)]
SOLVER = Solver(rtol=1e-7, atol=1e-9, max_step=0.2)
NAMES = ("object_mass", "static_friction", "kinetic_friction", "restitution")
known = Finger(gap=0.3)  # its own mass, drag and contact time, and here the gap as well
true = replace(known, object_mass=1.3, static_friction=1.1, kinetic_friction=0.7, restitution=0.2)


def readings(finger):
    """Mean velocity (m/s) and mean felt force (N) of each interval (2, COUNT)."""
    fine = 10  # samples of an interval
    run = simulate(finger, PUSH, PERIOD * COUNT, solver=SOLVER)
    times = np.arange(COUNT * fine + 1) * PERIOD / fine
    samples = run.at(np.minimum(times, run.end))
    steady = samples.sensor_constant
    felt = np.cumsum(np.append(0.0, 0.5 * (steady[1:] + steady[:-1]) * PERIOD / fine))
    for event in run.events:  # J, spread over the contact time
        felt = felt + event.impulse * np.clip((times - event.time) / finger.contact_time, 0.0, 1.0)
    return np.diff([samples.finger_position[::fine], felt[::fine]]) / PERIOD


def candidate(p):
    """Logarithms of mass, kinetic friction and the surplus of the static one; restitution."""
    mass, kinetic, surplus = map(float, np.exp(p[:3]))
    changed = replace(known, object_mass=mass, restitution=float(np.clip(p[3], 0.0, 1.0)))
    return replace(changed, static_friction=kinetic + surplus, kinetic_friction=kinetic)


rng = np.random.default_rng(0)
clean = readings(true)
scale = NOISE * np.abs(clean).max(axis=1, keepdims=True)
observed = clean + scale * rng.normal(size=clean.shape)

# A restitution that gives another sequence of bounces is another minimum: begin at several.
starts = [np.array([np.log(2.0), np.log(0.5), np.log(0.3), e]) for e in (0.1, 0.3, 0.6)]
low, high = [-4.0, -6.0, -9.0, 0.0], [4.0, 4.0, 4.0, 1.0]
best = min(
    (
        least_squares(
            lambda p: ((readings(candidate(p)) - observed) / scale).ravel(),
            start,
            bounds=(low, high),
            x_scale="jac",
            diff_step=1e-4,  # above the solver's error
            max_nfev=25,
        )
        for start in starts
    ),
    key=lambda found: found.cost,
)
spread = np.linalg.pinv(best.jac.T @ best.jac)
mass, kinetic, surplus = np.exp(best.x[:3])
change = np.array([[mass, 0, 0, 0], [0, kinetic, surplus, 0], [0, kinetic, 0, 0], [0, 0, 0, 1]])
errors = np.sqrt(np.diag(change @ spread @ change.T))
for name, error in zip(NAMES, errors, strict=True):
    value = getattr(candidate(best.x), name)
    print(f"{name}: {value:.3f} +- {error:.3f}, true {getattr(true, name):g}")
