"""Virtual contacts in two dimensions, in one file that needs NumPy and nothing else.

    python examples/contact/virtual_contacts.py

A disc is dropped onto the ground, rolls on it, and is lifted off by a growing force. Read the file
from top to bottom: it builds the model of ``galley.planar.contact`` in seven steps, with plain
loops and a numerical Jacobian in place of JAX, for one moving body on fixed ground. The tests use
it as an oracle. Units are SI: m, kg, s, N, rad.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# 1. Shapes are signed distances psi(x), negative inside, with their gradient and Hessian. The
#    gradient has length 1 and points out of the body.


class Disc:
    """A disc of a radius (m) about the origin of its body."""

    def __init__(self, radius):
        self.radius = radius

    def __call__(self, x, q):
        """Distance (m), gradient (2,) and Hessian (2, 2) (1/m) at x (2,), for the pose q (3,)."""
        lever = x - q[:2]
        far = max(np.hypot(*lever), 1e-9)  # the centre has no direction
        n = lever / far
        return far - self.radius, n, (np.eye(2) - np.outer(n, n)) / far


class Ground:
    """The half plane below a line through the origin, inclined by an angle (rad)."""

    def __init__(self, angle=0.0):
        self.normal = np.array([-np.sin(angle), np.cos(angle)])

    def __call__(self, x, q):
        """As ``Disc``; the pose is not used, since ground does not move."""
        return self.normal @ x, self.normal, np.zeros((2, 2))


# 2. The virtual contact of two bodies is the point that is as deep as possible in both, and as deep
#    in one as in the other:
#
#        x* = argmin L(x),    L = psi_1 + psi_2 + (psi_1 - psi_2)^2
#
#    Damped Newton finds it. Far from the minimum the step is halved until L falls.


def objective(x, bodies, poses):
    """L (m), its gradient (2,) and Hessian (2, 2) at x (2,)."""
    (d1, n1, H1), (d2, n2, H2) = (body(x, q) for body, q in zip(bodies, poses, strict=True))
    gap, n = d1 - d2, n1 - n2
    hessian = H1 + H2 + 2.0 * np.outer(n, n) + 2.0 * gap * (H1 - H2)
    return d1 + d2 + gap**2, n1 + n2 + 2.0 * gap * n, hessian


def virtual_contact(bodies, poses, start, iterations=50):
    """x* (2,), and the Hessian there (2, 2)."""
    x = np.array(start, dtype=float)
    for _ in range(iterations):
        L, g, H = objective(x, bodies, poses)
        # The Hessian must be positive: shift its eigenvalues where it is not.
        values, vectors = np.linalg.eigh(H)
        step = -vectors @ ((vectors.T @ g) / np.maximum(np.abs(values), 1e-6))
        size = 1.0
        if np.hypot(*step) > 1e-6:  # below, L no longer tells the difference
            while objective(x + size * step, bodies, poses)[0] > L + 1e-4 * size * (g @ step):
                size *= 0.5
        x = x + size * step
        if np.hypot(*step) < 1e-13:
            break
    return x, H


# 3. One point is hard: where it jumps, so does the force. With a temperature tau > 0 the contact is
#    a density p(x) ~ exp(-L / tau) about x*. N points stand for it: evenly spaced along the
#    direction in which L grows least, two standard deviations to either side (Laplace's
#    approximation), with weights w_i ~ exp(-L(x_i) / tau) that sum to 1. tau -> 0 is the argmin.


def contact_points(bodies, poses, start, n=1, tau=0.0):
    """Points (n, 2), and weights (n,)."""
    best, H = virtual_contact(bodies, poses, start)
    if n == 1 or tau == 0.0:
        return best[None], np.ones(1)
    values, vectors = np.linalg.eigh(H)
    spread = np.sqrt(tau / max(values[0], 1e-6)) * np.linspace(-2.0, 2.0, n)
    points = best + spread[:, None] * vectors[:, 0]
    L = np.array([objective(x, bodies, poses)[0] for x in points])
    weights = np.exp(-(L - L.min()) / tau)
    return points, weights / weights.sum()


# 4. Each point is projected onto both surfaces, c_k = x - n_k psi_k. With n out of body 2, the
#    penetration is d = -n . (c_1 - c_2); it is negative where the bodies are apart. (Its absolute
#    value would push bodies that are apart.)
#
#    A spring of stiffness k_n and a damper k_d push body 1 along n, and friction pulls it along
#    the surface, against its velocity v_t. Two smoothings: ``a`` (m) is the depth over which the
#    force sets in, ``e`` (m/s) the speed below which friction falls off.


@dataclass(frozen=True)
class Contact:
    """Parameters of the contact; the defaults are those of the original's lifted disc."""

    stiffness: float = 1e3  # k_n, N/m
    damping: float = 50.0  # k_d, N s/m^2
    tangential: float = 1e3  # k_t, N s/m
    friction: float = 0.1  # mu
    softness: float = 1e-3  # a, m
    still: float = 1e-3  # e, m/s
    points: int = 1  # N
    tau: float = 0.0  # m, temperature of the points


def contact_force(contact, n, depth, rate, v):
    """Force (2,) on body 1 along and across n, for its velocity v (2,) relative to body 2."""
    a = contact.softness
    soft = depth + a if depth > 0.0 else a * np.exp(depth / a)
    normal = soft * max(contact.stiffness + contact.damping * rate, 0.0)
    v_t = v - (v @ n) * n
    speed = np.hypot(*v_t)
    pull = min(contact.tangential * speed, contact.friction * normal)
    return normal * n - v_t / np.sqrt(speed**2 + contact.still**2) * pull


def wrench(contact, bodies, q, v, start):
    """Force (2,) and torque on body 1 (3,) at pose q (3,) and velocity v (3,), and the points."""
    poses = q, np.zeros(3)
    points, weights = contact_points(bodies, poses, start, contact.points, contact.tau)
    total = np.zeros(3)
    for x, w in zip(points, weights, strict=True):
        (d1, n1, _), (d2, n2, _) = (body(x, p) for body, p in zip(bodies, poses, strict=True))
        c1, c2 = x - n1 * d1, x - n2 * d2
        r = c1 - q[:2]
        v_c = v[:2] + v[2] * np.array([-r[1], r[0]])
        f = w * contact_force(contact, n2, -n2 @ (c1 - c2), -n2 @ v_c, v_c)
        total += [f[0], f[1], r[0] * f[1] - r[1] * f[0]]
    return total, points


# 5. A step of implicit Euler (BDF1) solves g(q1) = M (q1 - q0 - h v0) - h^2 f(q1, v1) = 0 with
#    v1 = (q1 - q0) / h, by Newton with a line search. Stiff springs make explicit steps blow up;
#    implicit ones are stable at any step. The residual is judged in newtons, g / h^2.


class NotConverged(Exception):
    """A step has no solution to the tolerance; a smaller h or a larger softness helps."""


def step(contact, bodies, mass, q0, v0, applied, h, start, tolerance=1e-8):
    """Pose and velocity (3,) after h (s), and the contact points (n, 2).

    Args:
        mass: (3,) kg, kg, kg m^2. applied: (3,) N, N, N m, gravity included.
    """

    def residual(q1):
        f, points = wrench(contact, bodies, q1, (q1 - q0) / h, start)
        return mass * (q1 - q0 - h * v0) / h**2 - f - applied, points

    def jacobian(q1):
        moves = 1e-7 * np.eye(3)
        columns = [(residual(q1 + d)[0] - residual(q1 - d)[0]) / 2e-7 for d in moves]
        return np.stack(columns, axis=1)

    q1 = q0 + h * v0
    g, points = residual(q1)
    for _ in range(100):
        if np.abs(g).max() < tolerance:
            return q1, (q1 - q0) / h, points
        move = np.linalg.solve(jacobian(q1), -g)
        size, before = 1.0, g @ g
        while size > 1e-8:
            trial, points = residual(q1 + size * move)
            if trial @ trial < (1.0 - 1e-4 * size) * before:
                break
            size *= 0.5
        else:
            if np.abs(g).max() < 1e3 * tolerance:  # rounding of the differences stops it here
                return q1, (q1 - q0) / h, points
            raise NotConverged(f"q = {q0}, v = {v0}: residual {np.abs(g).max():.3g} N")
        q1, g = q1 + size * move, trial
    raise NotConverged(f"q = {q0}, v = {v0}: residual {np.abs(g).max():.3g} N")


# 6. A simulation is a loop of steps. The points of one step are where the next one's search starts.


def simulate(contact, bodies, mass, q, v, controls, h, gravity=9.81):
    """Poses and velocities (n + 1, 3), and the mean contact points (n, 2).

    Args:
        mass: (3,) of body 1. q, v: (3,) at the start. controls: (n, 3) N, N, N m. h: s.
    """
    mass = np.asarray(mass, dtype=float)
    q, v = np.array(q, dtype=float), np.array(v, dtype=float)
    weight = np.array([0.0, -gravity * mass[1], 0.0])
    poses, velocities, contacts = [q], [v], []
    start = q[:2] - [0.0, bodies[0].radius]
    for control in np.asarray(controls, dtype=float):
        q, v, points = step(contact, bodies, mass, q, v, control + weight, h, start)
        start = points.mean(axis=0)
        poses.append(q)
        velocities.append(v)
        contacts.append(start)
    return np.array(poses), np.array(velocities), np.array(contacts)


# 7. The original's experiment: a disc that lies on the ground is lifted by a force that grows from
#    0 to 15 N. And one that drops, bounces and comes to rest.


def disc_mass(m, radius):
    """(3,) kg, kg, kg m^2."""
    return np.array([m, m, 0.5 * m * radius**2])


def lift(steps=100, h=1.0 / 60.0, contact=Contact()):
    """Poses (n + 1, 3), velocities and contacts of the lifted disc."""
    bodies, controls = (Disc(1.5), Ground()), np.zeros((steps, 3))
    controls[:, 1] = np.linspace(0.0, 15.0, steps)
    return simulate(contact, bodies, disc_mass(0.1, 1.5), [0.0, 1.5, 0.0], np.zeros(3), controls, h)


def drop(height=0.5, steps=400, h=1.0 / 240.0, contact=Contact()):
    """The same, dropped from a height (m) with a speed to the right of 1 m/s."""
    bodies, start = (Disc(0.2), Ground()), [0.0, 0.2 + height, 0.0]
    return simulate(
        contact, bodies, disc_mass(0.1, 0.2), start, [1.0, 0.0, 0.0], np.zeros((steps, 3)), h
    )


def main():
    """Print both runs."""
    for name, run, h in (("lift", lift, 1.0 / 60.0), ("drop", drop, 1.0 / 240.0)):
        poses, velocities, _ = run(h=h)
        print(f"{name}:   t (s)   x (m)   y (m)  theta (rad)  v_y (m/s)")
        for k in range(0, len(poses), len(poses) // 10):
            x, y, theta = poses[k]
            print(f"      {k * h:7.2f} {x:7.3f} {y:7.3f} {theta:12.3f} {velocities[k, 1]:10.3f}")


if __name__ == "__main__":
    main()
