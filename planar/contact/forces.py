"""Forces on the bodies of a world: contact, gravity, controls, and friction of the support."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from galley.planar.contact.bodies import Contact, World
from galley.planar.contact.shapes import Placed, cross, perpendicular
from galley.planar.contact.virtual_contacts import Geometry, contact_points, first_contact

_REACH = 20.0  # times the softness: at this gap a contact's force is 2e-9 of that at touch


class Contacts(NamedTuple):
    """The k contact points of all p pairs at one time (or, with a leading axis, at many).

    Attributes:
        virtual: p_W (k, 2), virtual contacts, m; for points on a perimeter the middle of the gap.
        position: p_W (k, 2), where the force acts, midway between the two surfaces, m.
        normal: (k, 2), outward normal of the second body of the pair, in W.
        depth: (k,), penetration, m; negative for a gap.
        force: (k, 2), on the first body, in W, N; the second feels the opposite force.
        stored: (p,), energy in the springs of each pair, J.
        slope: (p,), gradient of L at each virtual contact in reach, a ratio; the point is a minimum
            only if it is 0.
    """

    virtual: Array
    position: Array
    normal: Array
    depth: Array
    force: Array
    stored: Array
    slope: Array


def soft_depth(depth: Array, softness: Array) -> Array:
    """Softened depth g(d) = d + a for d > 0, a exp(d / a) otherwise, m, with the softness a."""
    # The clipped depth keeps exp, and its gradient, finite in the branch that isn't taken.
    outside = softness * jnp.exp(jnp.minimum(depth, 0.0) / softness)
    return jnp.where(depth > 0.0, depth + softness, outside)


def stored_energy(contact: Contact, geometry: Geometry) -> Array:
    """Energy in the springs of all points, J: the integral of k_n w g over the depth."""
    d, a = geometry.depth, contact.softness
    overlap = jnp.maximum(d, 0.0)
    integral = a * soft_depth(jnp.minimum(d, 0.0), a) + overlap * (overlap / 2.0 + a)
    return jnp.asarray(contact.stiffness * jnp.sum(geometry.weight * integral))


def point_forces(contact: Contact, geometry: Geometry, velocity: Array) -> Array:
    """Contact forces (k, 2) on the first body, N, by the law of ``Contact``.

    Args:
        contact: parameters of the law.
        geometry: the k contact points.
        velocity: (k, 2), of the first body relative to the second at each point, m/s.
    """
    n, w = geometry.normal, geometry.weight
    rate = -jnp.sum(n * velocity, axis=1)  # of the depth
    stiffness = jnp.maximum(contact.stiffness + contact.damping * rate, 0.0)
    f_n = w * soft_depth(geometry.depth, contact.softness) * stiffness
    tangent = perpendicular(n)
    slip = jnp.sum(tangent * velocity, axis=1)
    limit = jnp.minimum(w * contact.friction_viscosity * jnp.abs(slip), contact.friction * f_n)
    f_t = -slip / jnp.sqrt(slip**2 + contact.still**2) * limit
    return f_n[:, None] * n + f_t[:, None] * tangent


def first_points(world: World, q: Array, v: Array, time: Array) -> Array:
    """Virtual contacts of all pairs at the start, without a guess: p_W (pairs, 2)."""
    placed = _placed(world, world.complete(q, v, time)[0])
    points = [jnp.zeros((0, 2))]
    for (i, j), contact in zip(world.pairs, world.contacts, strict=True):
        points.append(first_contact(contact, placed[i], placed[j])[None])
    return jnp.concatenate(points)


def _placed(world: World, poses: Array) -> list[Placed]:
    """The shapes of all bodies at poses X_WB (b, 3)."""
    return [Placed.at(body.shape, X) for body, X in zip(world.bodies, poses, strict=True)]


def contact_forces(
    world: World, q: Array, v: Array, time: Array, starts: Array, search: bool = True
) -> tuple[Array, Contacts, Array]:
    """Contact forces of all pairs.

    Args:
        world: bodies and contact laws.
        q, v: poses and velocities (m, 3) of the free bodies.
        time: s, for bodies with a prescribed motion.
        starts: p_W (pairs, 2), where to begin to look for each virtual contact.
        search: False: ``starts`` are the virtual contacts already.

    Returns:
        Forces and torques about the centre of mass (b, 3) on all bodies, N and N m; the contact
        points; and the virtual contacts (pairs, 2), where the next search begins.
    """
    poses, velocities = world.complete(q, v, time)
    placed = _placed(world, poses)
    total = jnp.zeros((len(world.bodies), 3))
    contacts: list[Contacts] = []
    nexts = [jnp.zeros((0, 2))]
    for (i, j), contact, start in zip(world.pairs, world.contacts, starts, strict=True):
        geometry, x = contact_points(contact, placed[i], placed[j], start, search)
        nexts.append(x[None])
        # The force acts on both bodies at one point, or angular momentum would not be conserved.
        c = (geometry.first + geometry.second) / 2.0
        arms = [c - poses[k][:2] for k in (i, j)]
        speeds = [
            velocities[k][:2] + velocities[k][2] * perpendicular(arm)
            for k, arm in zip((i, j), arms, strict=True)
        ]
        force = point_forces(contact, geometry, speeds[0] - speeds[1])
        for k, arm, sign in zip((i, j), arms, (1.0, -1.0), strict=True):
            wrench = jnp.append(jnp.sum(force, axis=0), jnp.sum(cross(arm, force)))
            total = total.at[k].add(sign * wrench)
        # Far from touching, a point that isn't a minimum does no harm.
        near = jnp.max(geometry.depth, initial=-jnp.inf) > -_REACH * contact.softness
        contacts.append(
            Contacts(
                geometry.virtual,
                c,
                geometry.normal,
                geometry.depth,
                force,
                stored_energy(contact, geometry)[None],
                jnp.where(near, geometry.slope, 0.0)[None],
            )
        )
    if not contacts:
        none, nothing = jnp.zeros((0, 2)), jnp.zeros(0)
        return total, Contacts(none, none, none, nothing, none, nothing, nothing), none
    joined = Contacts(*(jnp.concatenate(parts) for parts in zip(*contacts, strict=True)))
    return total, joined, jnp.concatenate(nexts)


def total_forces(
    world: World,
    q: Array,
    v: Array,
    time: Array,
    control: Array,
    starts: Array,
    search: bool = True,
) -> tuple[Array, Array]:
    """Forces and torques (m, 3) on the free bodies, N and N m, and the next virtual contacts.

    Args:
        world, q, v, time, starts, search: as for ``contact_forces``.
        control: (m, 3), force in W at the centre of mass (N), and torque (N m).
    """
    touching, _, nexts = contact_forces(world, q, v, time, starts, search)
    rows = []
    for row, index in enumerate(world.free):
        body = world.bodies[index]
        force = (
            touching[index] + jnp.append(jnp.asarray(body.mass) * world.gravity, 0.0) + control[row]
        )
        if body.support is not None:
            force = force + body.support.wrench(v[row])
        rows.append(force)
    return jnp.stack(rows), nexts
