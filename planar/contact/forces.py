"""Forces on the bodies of a world: contact, gravity, controls, and friction of the support."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from galley.planar.contact.bodies import Contact, World
from galley.planar.contact.shapes import Placed, cross, perpendicular
from galley.planar.contact.virtual_contacts import Geometry, contact_points, first_contact

_REACH = 20.0  # times the softness: beyond that gap a contact's force is 2e-9 of that at touch


class Contacts(NamedTuple):
    """Contact points of all p pairs at one time (or, with a leading axis, at many); k in all.

    Attributes:
        virtual: virtual contacts (k, 2) in W; on a perimeter the middle of the gap.
        position: where the force acts (k, 2) in W, between the two surfaces.
        normal: (k, 2), outward of the second body of the pair.
        depth: (k,), m, of penetration; negative: a gap.
        force: (k, 2), N, in W, on the first body; the second has the opposite.
        stored: (p,), J, what the springs of each pair hold.
        slope: (p,), of L at each virtual contact that is in reach; where it isn't 0, that is no
            minimum.
    """

    virtual: Array
    position: Array
    normal: Array
    depth: Array
    force: Array
    stored: Array
    slope: Array


def soft_depth(depth: Array, softness: Array) -> Array:
    """g(d) = d + a for d > 0, a exp(d / a) otherwise; both in m."""
    outside = softness * jnp.exp(jnp.minimum(depth, 0.0) / softness)
    return jnp.where(depth > 0.0, depth + softness, outside)


def stored_energy(contact: Contact, geometry: Geometry) -> Array:
    """What the springs k_n w g(d) of all points hold, J."""
    d, a = geometry.depth, contact.softness
    overlap = jnp.maximum(d, 0.0)
    integral = a * soft_depth(jnp.minimum(d, 0.0), a) + overlap * (overlap / 2.0 + a)
    return jnp.asarray(contact.stiffness * jnp.sum(geometry.weight * integral))


def point_forces(contact: Contact, geometry: Geometry, velocity: Array) -> Array:
    """Forces (k, 2) on the first body, N.

    Args:
        contact: the law, see ``Contact``.
        geometry: the k points.
        velocity: of the first body relative to the second at each point (k, 2), m/s.
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
    """The virtual contact of each pair, looked for from far away: p_W (pairs, 2)."""
    placed = _placed(world, world.complete(q, v, time)[0])
    found = [jnp.zeros((0, 2))]
    for (i, j), contact in zip(world.pairs, world.contacts, strict=True):
        found.append(first_contact(contact, placed[i], placed[j])[None])
    return jnp.concatenate(found)


def _placed(world: World, poses: Array) -> list[Placed]:
    return [Placed.at(body.shape, X) for body, X in zip(world.bodies, poses, strict=True)]


def contact_forces(
    world: World, q: Array, v: Array, time: Array, starts: Array, search: bool = True
) -> tuple[Array, Contacts, Array]:
    """Contact forces of all pairs.

    Args:
        world: bodies and laws.
        q, v: poses and velocities (m, 3) of the free bodies.
        time: s.
        starts: p_W (pairs, 2), where to begin to look for each virtual contact.
        search: False: they are the virtual contacts already.

    Returns:
        Forces and torques about the centre of mass (b, 3) on all bodies, the points, and where
        to begin next time.
    """
    poses, velocities = world.complete(q, v, time)
    placed = _placed(world, poses)
    total = jnp.zeros((len(world.bodies), 3))
    found: list[Contacts] = []
    nexts = [jnp.zeros((0, 2))]
    for (i, j), contact, start in zip(world.pairs, world.contacts, starts, strict=True):
        geometry, x = contact_points(contact, placed[i], placed[j], start, search)
        nexts.append(x[None])
        # Both bodies at one point, or angular momentum would not be kept.
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
        near = jnp.max(geometry.depth, initial=-jnp.inf) > -_REACH * contact.softness
        found.append(
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
    if not found:
        none, nothing = jnp.zeros((0, 2)), jnp.zeros(0)
        return total, Contacts(none, none, none, nothing, none, nothing, nothing), none
    joined = Contacts(*(jnp.concatenate(each) for each in zip(*found, strict=True)))
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
    """Forces and torques (m, 3) on the free bodies, N and N m; and where to begin next time.

    Args:
        world, q, v, time, starts, search: as of ``contact_forces``.
        control: (m, 3), force in W at the centre of mass, and torque.
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
