"""Why only the base and the elbow are learned: a flow of the whole of Q misses its target.

    python examples/reach/whole.py [STEPS]

Five numbers on a surface of three dimensions have no density, so the flow learns one that is thin
across the surface. A coupling flow with rational-quadratic splines (Durkan et al., Neural Spline
Flows, 2019), over x, y and the cosines and sines of all angles, given the target. Needs
`pip install 'galley-tamp[planar]'`.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from flowjax.bijections import RationalQuadraticSpline
from flowjax.distributions import Normal
from flowjax.flows import coupling_flow

from galley.planar.reach import DonutSampler, PlanarArm, uniform_targets
from galley.planar.reach.learned.training import FitSettings, fit

COLUMNS, BASES = 8, 100_000  # x, y, three cosines, three sines
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
rng = np.random.default_rng(0)
arm = PlanarArm(1.0, 0.8)
targets = uniform_targets(((-2.0, 2.0), (-2.0, 2.0)), BASES, rng)
rows = DonutSampler(arm, 0.05, 0.3).sample(targets, BASES, rng)

angles = rows.q[:, 2:]
columns = np.column_stack([rows.q[:, :2], np.cos(angles), np.sin(angles)])
scale = columns.std(axis=0)
table = jnp.asarray(np.column_stack([columns / scale, rows.target]).astype(np.float32))
held_out = rows.source % 10 == 9
flow = coupling_flow(
    jax.random.key(0),
    base_dist=Normal(jnp.zeros(COLUMNS)),
    transformer=RationalQuadraticSpline(knots=8, interval=4),
    cond_dim=2,
    flow_layers=6,
    nn_width=64,
)


def loss(flow, rows):
    """Mean negative log density, nats."""
    return -jnp.mean(flow.log_prob(rows[:, :COLUMNS], rows[:, COLUMNS:]))


best = flow
training = fit(flow, loss, table[~held_out], table[held_out][:10_000], FitSettings(steps))
for now, best in training:  # noqa: B007
    print(now.line())
drawn = best.sample(jax.random.key(1), (), jnp.asarray(targets, jnp.float32))
drawn = np.asarray(drawn, dtype=np.float64) * scale
base = np.column_stack([drawn[:, :2], np.arctan2(drawn[:, 5], drawn[:, 2])])
theta = np.arctan2(drawn[:, 6:], drawn[:, 3:5])
miss = np.linalg.norm(arm.fk(base, theta) - targets, axis=1)
print(f"the hand is within 1 cm of its target in {100 * np.mean(miss < 0.01):.1f} % of samples")
print(f"in the median {1e3 * np.median(miss):.0f} mm away")
