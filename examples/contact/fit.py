"""Find parameters of a contact from an observed trajectory, by the derivatives of the simulation.

    python examples/contact/fit.py

Least squares in the logarithms of the parameters, so that they stay positive; their standard errors
come from the same Jacobian. Needs `pip install 'galley-tamp[planar]'`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares

from galley.planar.contact import Body2D, Circle, Contact, HalfPlane, World, simulate

H, STEPS = 0.01, 80  # s
NAMES, TRUE, GUESS = ("friction", "mass"), np.array([0.25, 0.6]), np.array([0.4, 0.4])
NOISE = 1e-4  # m and rad, of an observed pose
push = np.zeros((STEPS, 1, 3))
push[:, 0, 0] = 3.0  # N: the disc slips on the ground before it rolls


def poses(parameters):
    """Of a disc that is pushed over the ground (STEPS, 3): x, y (m), angle (rad)."""
    friction, mass = parameters
    disc = Body2D(Circle(0.2), mass=mass, pose=(0.0, 0.2, 0.0))
    world = World([disc, Body2D(HalfPlane())], Contact(friction=friction))
    return simulate(world, push, H).pose[1:, 0]


with jax.enable_x64(True):
    rng = np.random.default_rng(0)
    observed = np.asarray(poses(TRUE)) + rng.normal(0.0, NOISE, (STEPS, 3))
    differences = jax.jit(lambda logs: (poses(jnp.exp(logs)) - observed).ravel() / NOISE)
    slopes = jax.jit(jax.jacfwd(differences))
    found = least_squares(
        lambda logs: np.asarray(differences(logs)),
        np.log(GUESS),
        jac=lambda logs: np.asarray(slopes(logs)),
        x_scale="jac",
    )
values = np.exp(found.x)
errors = values * np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
for name, value, error, true in zip(NAMES, values, errors, TRUE, strict=True):
    print(f"{name}: {value:.5f} +- {error:.1g}, true {true}")
