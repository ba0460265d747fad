"""Tampering with physics logs: well-formed columns that violate mechanics.

Each takes a log and a random stream, and returns what became of it and the kinds of violation of
which one must be found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from galley.domain.log import OUTSIDE
from galley.tests.validation.mutations import changed, with_contact

SUGAR, CAN = 0, 1
_LOOSE = {"moved-alone", "floating"}


def ramp(log, begin, seconds):
    """From 0 to 1 (T,) over some seconds, without a jerk."""
    u = np.clip((np.arange(len(log.time)) - begin) * log.period / seconds, 0.0, 1.0)
    return u * u * (3.0 - 2.0 * u)


def there_and_back(log, begin, seconds):
    """From 0 to 1 and to 0 again (T,), over so many seconds each."""
    return ramp(log, begin, seconds) - ramp(log, begin + seconds / log.period, seconds)


def turn(axis, angle):
    """Quaternions (..., 4) about an axis (3,)."""
    angle = np.asarray(angle)[..., None]
    return np.concatenate([np.sin(angle / 2.0) * axis, np.cos(angle / 2.0)], axis=-1)


def times(a, b):
    """The Hamilton product (..., 4)."""
    u, s, v, t = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    w = s * t - (u * v).sum(axis=-1, keepdims=True)
    return np.concatenate([s * v + t * u + np.cross(u, v), w], axis=-1)


def contacts(log, keep):
    """The log with only those contacts of which ``keep`` (c,) is true."""
    names = ("contact_step", "contact_pair", "contact_distance", "contact_force")
    return replace(log, **{name: getattr(log, name)[keep] for name in names})


def contacts_between(log, *names):
    """Contacts (c,) of which both are among some names."""
    return np.isin(log.names[log.contact_pair], names).all(axis=1)


def early(log, rng, seconds):
    """A sample from which so many seconds, and one more, are left."""
    return int(rng.integers(1, len(log.time) - int((seconds + 1.0) / log.period)))


def moved(log, item, way):
    """An item is displaced by (T, 3)."""

    def move(items):
        items[:, item, :3] += way

    return changed(log, items=move)


# -- loose things ----------------------------------------------------------------------------------


def turned_at_once(log, rng):
    """About the vertical, for one sample or from then on."""
    k = int(rng.integers(1, len(log.time) - 1))
    end = k + 1 if rng.random() < 0.5 else len(log.time)
    quarter = turn(np.array([0.0, 0.0, 1.0]), rng.uniform(0.2, np.pi))

    def spin(items):
        items[k:end, CAN, 3:] = times(quarter, items[k:end, CAN, 3:])

    return changed(log, items=spin), {"jump"}


def leaning_and_back(log, rng):
    """By up to 20 degrees over an edge, slowly, as if something had tilted it."""
    seconds = rng.uniform(2.0, 2.5)
    k, size = early(log, rng, 2.0 * seconds), rng.uniform(0.1, 0.35)
    angle = size * there_and_back(log, k, seconds)
    tilt = turn(np.array([1.0, 0.0, 0.0]), angle)

    def lean(items):
        items[:, CAN, 2] += 0.03 * np.abs(np.sin(angle))
        items[:, CAN, 3:] = times(tilt, items[:, CAN, 3:])

    return changed(log, items=lean), _LOOSE


def gliding(log, rng):
    """Slower than a window of a quarter of a second would show."""
    speed, far = rng.uniform(0.003, 0.0075), rng.uniform(0.01, 0.03)
    far = min(far, 0.6 * log.duration * speed)
    k, angle = early(log, rng, far / speed), rng.uniform(0.0, 2.0 * np.pi)
    u = np.clip((log.time - log.time[k]) * speed, 0.0, far)
    return moved(log, CAN, np.outer(u, [np.cos(angle), np.sin(angle), 0.0])), _LOOSE


def hanging(log, rng):
    """It rises, hangs in the air, and comes down, slowly."""
    height, seconds = rng.uniform(0.008, 0.011), rng.uniform(2.2, 2.5)
    k = early(log, rng, 2.0 * seconds)
    up = height * there_and_back(log, k, seconds)
    return moved(log, CAN, np.outer(up, [0.0, 0.0, 1.0])), {"floating"}


def hovering_for_a_moment(log, rng):
    """Up and down again within half a second, so gently that nothing jumps."""
    height, k = rng.uniform(0.01, 0.03), early(log, rng, 1.0)
    up = height * there_and_back(log, k, 0.3)
    return moved(log, CAN, np.outer(up, [0.0, 0.0, 1.0])), _LOOSE


def creeping_drawer(log, rng):
    joint, far = int(rng.integers(1, 4)), rng.uniform(0.004, 0.015)
    k = early(log, rng, 3.0)

    def creep(scene_q):
        scene_q[:, joint] += far * ramp(log, k, 3.0)

    return changed(log, scene_q=creep), {"moved-alone"}


def hardly_pushed(log, rng):
    """A motion that a contact with something outside is to excuse, and can't."""
    k, force = early(log, rng, 0.5), 10.0 ** rng.uniform(-3.0, -0.5)
    found = moved(log, CAN, np.outer(0.02 * ramp(log, k, 0.5), [1.0, 0.0, 0.0]))
    for step in range(k, k + 70):
        found = with_contact(found, step, OUTSIDE, "potted_meat_can", force)
    return found, _LOOSE


# -- what is held ----------------------------------------------------------------------------------


def open_fingers(log, rng):
    """It is carried, and for a while the fingers are not at it."""
    held = np.flatnonzero(log.held == SUGAR)
    begin = int(rng.integers(held[0] + 120, held[-1] - 180))
    wider = np.zeros_like(log.q)
    wider[:, 10:] = rng.uniform(0.007, 0.012) * there_and_back(log, begin, 0.6)[:, None]
    wider[log.held != SUGAR] = 0.0
    rates = np.gradient(wider, log.period, axis=0)
    return replace(
        log, q=log.q + wider, velocity=log.velocity + rates, command=log.command + wider
    ), {"floating"}


def without_finger_contacts(log, rng):
    which = ["panda_leftfinger", "panda_rightfinger"]
    return contacts(log, ~contacts_between(log, "sugar_box", *which)), {"contact"}


def never_held(log, rng):
    return replace(log, held=np.full_like(log.held, -1)), {"floating"}


def not_held_for_a_while(log, rng):
    """Where nothing but the hand carries it."""
    raised = np.flatnonzero(log.items[:, SUGAR, 2] > log.items[0, SUGAR, 2] + 0.01)
    k = int(rng.choice(raised[: -int(0.5 / log.period)]))

    def drop(held):
        held[k : k + int(0.4 / log.period)] = -1

    return changed(log, held=drop), {"floating"}


def said_to_be_held(log, rng):
    """Something that stands elsewhere."""
    return replace(log, held=np.full_like(log.held, CAN)), {"floating"}


# -- forces ----------------------------------------------------------------------------------------


def without_contacts(log, rng):
    return contacts(log, np.zeros(len(log.contact_step), dtype=bool)), {"contact"}


def scaled_forces(log, rng):
    factor = float(rng.choice([100.0, 10.0, 3.0, 0.3, 0.01]))
    return replace(log, contact_force=log.contact_force * factor), {"contact"}


def mighty_fingers(log, rng):
    """Those that carry it press with far more than their motors can."""
    which = contacts_between(log, "sugar_box", "panda_leftfinger", "panda_rightfinger")
    more = np.where(which, float(rng.choice([4.0, 10.0, 100.0])), 1.0)
    return replace(log, contact_force=log.contact_force * more), {"contact"}


def pulling_forces(log, rng):
    return replace(log, contact_force=-log.contact_force), {"log"}


def invented_depth(log, rng):
    """Contacts that are recorded deeper, or further apart, than bodies are."""
    off = rng.choice([-1.0, 1.0]) * rng.uniform(0.004, 0.05)
    which = rng.random(len(log.contact_step)) < 0.3
    return replace(log, contact_distance=log.contact_distance + off * which), {"contact"}


def invented_contact(log, rng):
    """Of things that are apart, with little force."""
    step = int(rng.integers(len(log.time)))
    return with_contact(log, step, "sugar_box", "potted_meat_can", 1.0), {"contact"}


def other_torques(log, rng):
    return replace(log, torque=log.torque * float(rng.choice([0.0, 0.5, 1.5, -1.0]))), {"torque"}


def command_is_position(log, rng):
    return replace(log, command=log.q), {"tracking"}


TAMPERINGS = (
    turned_at_once,
    leaning_and_back,
    gliding,
    hanging,
    hovering_for_a_moment,
    creeping_drawer,
    hardly_pushed,
    open_fingers,
    without_finger_contacts,
    never_held,
    not_held_for_a_while,
    said_to_be_held,
    without_contacts,
    scaled_forces,
    mighty_fingers,
    pulling_forces,
    invented_depth,
    invented_contact,
    other_torques,
    command_is_position,
)
