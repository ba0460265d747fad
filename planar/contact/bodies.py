"""The world: bodies, and the law of contact of each pair.

All are frozen pytrees, whose numbers can be differentiated, batched and replaced. A pose
is (x, y, angle) of the body's frame B in the world W, in m and rad; the origin of B is the centre
of mass. A velocity is (m/s, m/s, rad/s).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from galley.domain.parameters import (
    CONTACT_DAMPING,
    FORCE_LIMIT,
    FRICTION,
    INERTIA,
    LENGTH,
    MASS,
    SLIP_SPEED,
    STIFFNESS,
    VISCOSITY,
    Quantity,
    parameters,
)
from galley.planar.contact.shapes import Moved, Shape2D, checked, is_traced, numbers

Motion = Callable[[Array], Array]
_ANY = Quantity("1")


class Points(StrEnum):
    """Where the contact points of a pair of bodies are.

    A virtual contact must be the minimum of a smooth function, so ``newton`` and ``stein`` are for
    bodies without corners: at a corner no step converges.
    """

    AUTO = "auto"  # disc on polygon: its edges; else newton if one shape is round, or perimeter
    NEWTON = "newton"  # around the virtual contact, along the tangent
    STEIN = "stein"  # spread around the virtual contact by Stein variational descent
    PERIMETER = "perimeter"  # fixed to each body's edge, against the other body


def _parameter(default: float, quantity: Quantity, about: str) -> Any:
    """A field as of ``galley.domain.parameters.parameter``, for a leaf of a pytree."""
    metadata = {"quantity": quantity, "about": about}
    return eqx.field(default=default, converter=numbers, metadata=metadata)


class _Checked(eqx.Module):
    def __check_init__(self) -> None:
        for field in parameters(self):
            checked(field.name, getattr(self, field.name), field.metadata["quantity"])


class Contact(_Checked):
    """The law of contact between two bodies: normal force and friction.

    With the depth d of penetration (m), its rate d' and the relative tangential velocity v at a
    point of weight w (the weights of all points of a pair sum to 1):

        f_n = w g(d) max(k_n + k_d d', 0)
        f_t = -v / sqrt(v^2 + e^2) min(w k_t |v|, mu f_n)

    where g(d) = d + a for d > 0 and a exp(d / a) otherwise. So bodies that just touch press with
    a k_n already, and a point that sticks creeps at |v| = f_t / (w k_t).

    Attributes:
        stiffness: k_n, N/m. Larger: bodies sink less, but steps converge less easily.
        damping: k_d, N s/m^2. Larger: impacts lose more energy.
        friction_viscosity: k_t, N s/m. Larger: a sticking point creeps less.
        friction: coefficient mu.
        still: speed e below which friction fades, m/s. Larger: smoother, but bodies creep faster.
        softness: a, m: how far out the normal force reaches. Towards 0 the law becomes the penalty
            k_n max(d, 0); larger is smoother.
        spread: tau, m: how far the points spread along the surfaces, with the density
            exp(-L / tau), L as in ``virtual_contacts``; towards 0 all are at its minimum.
        count: number of points; on a perimeter the least number on each body.
        points: where the points are.
    """

    stiffness: Any = _parameter(1e3, STIFFNESS, "normal stiffness")
    damping: Any = _parameter(50.0, CONTACT_DAMPING, "normal damping")
    friction_viscosity: Any = _parameter(1e3, VISCOSITY, "slope of friction at rest")
    friction: Any = _parameter(0.1, FRICTION, "coefficient of friction")
    still: Any = _parameter(1e-3, SLIP_SPEED, "speed below which friction fades")
    softness: Any = _parameter(1e-3, LENGTH, "how far out the normal force reaches")
    spread: Any = _parameter(1e-3, LENGTH, "how far along the surfaces points spread")
    count: int = eqx.field(default=1, static=True)
    points: Points = eqx.field(default=Points.AUTO, static=True, converter=Points)

    def __check_init__(self) -> None:
        if not isinstance(self.count, int) or self.count < 1:
            raise ValueError(f"count = {self.count}: must be a whole number from 1")


class Support(_Checked):
    """Support friction of a body that lies on a horizontal plane: an ellipsoidal limit surface.

    ``planar.geometry.support`` has the formula, and ``support_friction`` there computes the numbers
    of an outline: ``Support(**vars(support_friction(polygon, mass, friction, still=1e-3)))``.

    Attributes:
        limit: f, the friction against pure translation, N.
        length: c, m; c f is the torque against pure turning about the centre of mass, N m.
        still: speed below which friction fades, m/s; 0 would leave no derivative at rest.
    """

    limit: Any = _parameter(1.0, FORCE_LIMIT, "friction against pure translation")
    length: Any = _parameter(1.0, LENGTH, "characteristic length")
    still: Any = _parameter(1e-3, SLIP_SPEED, "speed below which friction fades")

    def wrench(self, velocity: Array) -> Array:
        """Force and torque (3,), N and N m, on the body that moves with ``velocity`` (3,)."""
        scale = jnp.stack([jnp.ones(()), jnp.ones(()), jnp.asarray(self.length)])
        speed = jnp.sqrt(jnp.sum((scale * velocity) ** 2) + self.still**2)
        return jnp.asarray(-self.limit * scale**2 * velocity / speed)


class Body2D(eqx.Module):
    """A rigid body: free with a mass, prescribed with a motion, fixed with neither.

    Attributes:
        shape: the body's region in frame B, whose origin is the centre of mass.
        mass: kg; None: fixed or prescribed.
        inertia: kg m^2, about the centre of mass.
        pose: X_WB (3,) at the start.
        velocity: (3,) at the start.
        motion: prescribed pose (3,) as a function of the time (s), or None.
        support: friction of the plane on which it lies, or None.
        name: for messages and pictures.
    """

    shape: Shape2D
    mass: Array | None
    inertia: Array | None
    pose: Array
    velocity: Array
    motion: Motion | None
    support: Support | None
    name: str = eqx.field(static=True)

    def __init__(
        self,
        shape: Shape2D,
        mass: Any = None,
        inertia: Any = None,
        pose: Any = (0.0, 0.0, 0.0),
        velocity: Any = (0.0, 0.0, 0.0),
        motion: Motion | None = None,
        support: Support | None = None,
        name: str = "",
    ) -> None:
        """A body.

        Args:
            shape: its region. For a free body without ``inertia`` it is moved so that its centroid
                is at the origin of B.
            mass: kg, of a free body.
            inertia: kg m^2; None: the mass is uniform, and the shape's centroid is its centre.
            pose: X_WB (3,) at the start, m and rad; with a motion it isn't used.
            velocity: (3,) at the start, of a free body.
            motion: pose (3,) as a differentiable function of the time (s), in place of a mass.
            support: friction of the plane that a free body lies on.
            name: for messages and pictures.

        Raises:
            ValueError: mass or inertia isn't positive, an argument doesn't fit the kind of
                body, or the shape has no closed form for its inertia.
        """
        if mass is None:
            given = {"inertia": inertia is not None, "support": support is not None}
            if not is_traced(velocity):
                given["velocity"] = bool(np.any(velocity))
            for key in (name for name, value in given.items() if value):
                raise ValueError(f"{key}: only a body with a mass has one")
            self.mass = self.inertia = None
        else:
            if motion is not None:
                raise ValueError("motion: a body with a mass is free, leave out one of the two")
            self.mass = checked("mass", mass, MASS)
            if inertia is None:
                _, centroid, second = _evaluated(shape.moments, shape, mass)
                inertia = self.mass * second
                if is_traced(centroid) or np.any(np.abs(centroid) > 1e-12):
                    shape = Moved(shape, _away(centroid))  # B must be at the centre of mass
            self.inertia = checked("inertia", inertia, INERTIA)
        self.shape = shape
        self.pose = checked("pose", pose, _ANY, (3,))
        self.velocity = checked("velocity", velocity, _ANY, (3,))
        self.motion = motion
        self.support = support
        self.name = name

    @property
    def free(self) -> bool:
        """Whether forces move the body: it has a mass."""
        return self.mass is not None

    def at(self, time: Array) -> tuple[Array, Array]:
        """Pose and velocity (3,) at a time (s) of a body that isn't free."""
        motion = self.motion
        if motion is None:
            return jnp.asarray(self.pose), jnp.zeros(3)
        return jax.jvp(lambda t: jnp.asarray(motion(t)), (time,), (jnp.ones_like(time),))


def _evaluated(function: Callable[[], Any], *inputs: Any) -> Any:
    """The result of a function as NumPy arrays in float64; as it is if its inputs are traced."""
    if is_traced(inputs):
        return function()
    # Also inside a transformation with respect to something else, where JAX would trace constants.
    with jax.enable_x64(True), jax.ensure_compile_time_eval():
        return jax.tree.map(np.asarray, function())


def _away(centroid: Any) -> Any:
    """The pose (3,) that moves a centroid (2,) to the origin; traced if the centroid is."""
    stack = jnp if is_traced(centroid) else np
    return stack.concatenate([-centroid, stack.zeros(1)])


class World(eqx.Module):
    """Bodies, the contact law of each pair that may touch, and gravity.

    Attributes:
        bodies: at least one of them free.
        contacts: the contact law of each pair.
        gravity: (2,), m/s^2.
        pairs: indices (first, second) into ``bodies`` of each pair that may touch.
    """

    bodies: tuple[Body2D, ...]
    contacts: tuple[Contact, ...]
    gravity: Array
    pairs: tuple[tuple[int, int], ...] = eqx.field(static=True)

    def __init__(
        self,
        bodies: Sequence[Body2D],
        contact: Contact | Mapping[tuple[int, int], Contact] | None = None,
        gravity: Any = (0.0, -9.81),
    ) -> None:
        """A world.

        Args:
            bodies: in the order in which results have them.
            contact: one law for all pairs with at least one free body; or a law for each pair of
                indices, and no other pair can touch. None: the defaults of ``Contact``.
            gravity: (2,), m/s^2.

        Raises:
            ValueError: no body is free; or a pair has a bad index, one body twice or no free body,
                or is given twice.
        """
        self.bodies = tuple(bodies)
        count = len(self.bodies)
        if not any(body.free for body in self.bodies):
            raise ValueError("bodies: none is free; give one a mass")
        if isinstance(contact, Mapping):
            laws = dict(contact)
        else:
            law = contact if contact is not None else Contact()
            laws = {
                (i, j): law
                for i, j in itertools.combinations(range(count), 2)
                if self.bodies[i].free or self.bodies[j].free
            }
        for pair in laws:
            i, j = pair
            if i == j or not (0 <= i < count and 0 <= j < count):
                raise ValueError(f"contact: {pair} is no pair of the {count} bodies")
            if (j, i) in laws:
                raise ValueError(f"contact: {pair} is there the other way round as well")
            if not (self.bodies[i].free or self.bodies[j].free):
                raise ValueError(f"contact: neither body of {pair} is free")
        self.pairs = tuple(laws)
        self.contacts = tuple(laws.values())
        self.gravity = checked("gravity", gravity, _ANY, (2,))

    @property
    def free(self) -> tuple[int, ...]:
        """Indices of the m free bodies, in the order of controls."""
        return tuple(i for i, body in enumerate(self.bodies) if body.free)

    def masses(self) -> Array:
        """Mass, mass (kg) and inertia (kg m^2) of each free body (m, 3)."""
        rows = [(body.mass, body.mass, body.inertia) for body in self.bodies if body.free]
        return jnp.asarray(rows)

    def start(self) -> tuple[Array, Array]:
        """Poses and velocities (m, 3) of the free bodies at the start."""
        free = [self.bodies[i] for i in self.free]
        return jnp.stack([b.pose for b in free]), jnp.stack([b.velocity for b in free])

    def complete(self, q: Array, v: Array, time: Array) -> tuple[Array, Array]:
        """Poses and velocities (b, 3) of all bodies, from ``q``, ``v`` (m, 3) of the free ones."""
        row_of = {index: row for row, index in enumerate(self.free)}
        states = [
            (q[row_of[i]], v[row_of[i]]) if body.free else body.at(time)
            for i, body in enumerate(self.bodies)
        ]
        return jnp.stack([s[0] for s in states]), jnp.stack([s[1] for s in states])
