"""Mutations of a valid log: parts of it, and single faults that validation must find."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

ROWS = ("time", "q", "velocity", "command", "torque", "scene_q", "items", "held", "motion")


def part(log, first, last):
    """The motions ``first`` .. ``last`` as a run of their own."""
    keep = np.flatnonzero((log.motion >= first) & (log.motion <= last))
    begin, end = keep[0], keep[-1]
    found = {name: getattr(log, name)[keep] for name in ROWS}
    found["time"] = np.arange(len(keep)) * log.period
    found["motion"] = found["motion"] - first
    rows = [r for r in log.declared if first <= int(r[0]) <= last]
    contacts = (log.contact_step >= begin) & (log.contact_step <= end)
    return replace(
        log,
        **found,
        motions=log.motions[first : last + 1],
        ends=log.ends[first : last + 1],
        guards=log.guards[first : last + 1],
        declared=np.array([(str(int(k) - first), a, b) for k, a, b in rows], dtype=np.str_).reshape(
            -1, 3
        ),
        contact_step=log.contact_step[contacts] - begin,
        contact_pair=log.contact_pair[contacts],
        contact_distance=log.contact_distance[contacts],
        contact_force=log.contact_force[contacts],
        duration=float(found["time"][-1]),
    )


def carried(log):
    """From the stove to the counter: the part that picks, carries and places the sugar box."""
    names = [str(m) for m in log.motions]
    first = next(k for k, name in enumerate(names) if name.startswith("(pick sugar"))
    last = max(k for k, name in enumerate(names) if name.startswith("(place sugar"))
    return part(log, first, last)


def without(log, keep):
    """Only the samples of which ``keep`` (T,) is true; nothing else is put right."""
    rows = {name: getattr(log, name)[keep] for name in ROWS}
    left = keep[log.contact_step]
    moved = (np.cumsum(keep) - 1)[log.contact_step]
    return replace(
        log,
        **rows,
        contact_step=moved[left],
        contact_pair=log.contact_pair[left],
        contact_distance=log.contact_distance[left],
        contact_force=log.contact_force[left],
    )


def changed(log, **changes):
    """A copy of the log, columns changed in place by functions."""
    columns = {}
    for name, change in changes.items():
        values = np.array(getattr(log, name))
        change(values)
        columns[name] = values
    return replace(log, **columns)


def with_contact(log, step, a, b, force):
    """One more contact, recorded at a sample."""
    names = [*map(str, log.names)]
    for name in (a, b):
        if name not in names:
            names.append(name)
    at = int(np.searchsorted(log.contact_step, step))
    return replace(
        log,
        names=np.array(names, dtype=np.str_),
        contact_step=np.insert(log.contact_step, at, step),
        contact_pair=np.insert(log.contact_pair, at, [names.index(a), names.index(b)], axis=0),
        contact_distance=np.insert(log.contact_distance, at, -1e-5),
        contact_force=np.insert(log.contact_force, at, force),
    )


def kinds(verdict):
    return {violation.kind for violation in verdict.violations}


def words(verdict):
    return " | ".join(violation.what for violation in verdict.violations)


# -- families: each makes one fault from random numbers, and says which kinds tell it -------------


def missing_sample(log, rng):
    keep = np.ones(len(log.time), dtype=bool)
    keep[rng.integers(len(log.time))] = False
    return without(log, keep), {"log"}


def cut(log, rng):
    """A piece is missing at one of the ends."""
    keep, size = np.ones(len(log.time), dtype=bool), int(rng.integers(1, 200))
    keep[:size] = False
    return without(log, keep if rng.random() < 0.5 else keep[::-1]), {"log"}


def past_a_limit(log, rng, robot):
    lower, upper = robot.limits
    j, k = rng.integers(robot.size), rng.integers(len(log.time))
    beyond = lower[j] - 0.005 if rng.random() < 0.5 else upper[j] + 0.005

    def bend(q):
        q[k, j] = beyond

    return changed(log, q=bend), {"position"}


def too_fast(log, rng, robot):
    limit = np.concatenate([g.velocity for g in robot.groups])
    j, k = rng.integers(robot.size), rng.integers(len(log.time))

    def speed(velocity):
        velocity[k, j] = 1.1 * limit[j] * rng.choice([-1.0, 1.0])

    return changed(log, velocity=speed), {"velocity"}


def away_from_its_command(log, rng):
    j, k = rng.integers(10), rng.integers(len(log.time))

    def tell(command):
        command[k, j] += rng.choice([-1.0, 1.0]) * rng.uniform(0.06, 1.0)

    return changed(log, command=tell), {"tracking"}


def not_a_number(log, rng):
    name = str(rng.choice(["time", "q", "velocity", "command", "scene_q", "items"]))

    def spoil(values):
        values.reshape(-1)[rng.integers(values.size)] = rng.choice([np.nan, np.inf, -np.inf])

    return changed(log, **{name: spoil}), {"log"}


def sunk_item(log, rng):
    """An item that stands is a centimetre in what it stands on, for a while or one sample."""
    item = int(rng.integers(log.items.shape[1]))
    loose = np.flatnonzero(log.held != item)
    k, size = int(rng.choice(loose)), int(rng.integers(1, 300))

    def sink(items):
        at = np.arange(k, min(k + size, len(items)))
        items[at[log.held[at] != item], item, 2] -= 0.01

    return changed(log, items=sink), {"penetration", "pressed"}


def drifting_grip(log, rng):
    """A held item slides through the fingers by 2 cm, evenly over one motion."""
    held = np.unique(log.motion[log.held >= 0])
    motion = int(rng.choice([m for m in held if (log.motion == m).sum() > 20]))
    at = np.flatnonzero((log.motion == motion) & (log.held >= 0))
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    item = log.held[at[0]]

    def drift(items):
        items[at, item, :3] += np.linspace(0.0, 0.02, len(at))[:, None] * direction

    return changed(log, items=drift), {"slip"}


def floating_item(log, rng):
    """An item ends up to 20 cm above what it stood on."""
    item = int(rng.choice(np.flatnonzero(np.arange(log.items.shape[1]) != log.held[-1])))
    height, last = rng.uniform(0.006, 0.2), int(rng.integers(2, 200))

    def lift(items):
        items[-last:, item, 2] += height

    # In the last few samples the jump itself is what is found: the item isn't at rest yet.
    return changed(log, items=lift), {"floating", "moving"} if last < 10 else {"floating"}


def moving_at_the_end(log, rng):
    item = int(rng.choice(np.flatnonzero(np.arange(log.items.shape[1]) != log.held[-1])))

    def slide(items):
        items[-60:, item, 0] += np.linspace(0.0, rng.uniform(0.01, 0.02), 60)

    return changed(log, items=slide), {"moving"}


def bumped_into(log, rng):
    links = ["chassis", "panda_link4", "panda_link6", "panda_hand"]
    step, force = int(rng.integers(len(log.time))), float(rng.uniform(2.1, 100.0))
    return with_contact(log, step, str(rng.choice(links)), "hood", force), {"contact"}


def unnormalised(log, rng):
    k, item = rng.integers(len(log.time)), rng.integers(log.items.shape[1])

    def scale(items):
        items[k, item, 3:] *= rng.choice([0.99, 1.01, 2.0])

    return changed(log, items=scale), {"log"}


def order_of_motions(log, rng):
    k = int(rng.integers(1, len(log.time) - 1))

    def back(motion):
        motion[k:] -= 1 if motion[k] == motion[k - 1] else 2
        np.maximum(motion, 0, out=motion)

    return changed(log, motion=back), {"log"}


def overloaded(log, rng, robot):
    from galley.validation.joints import effort_limits

    limit = effort_limits(robot)
    k, j = rng.integers(len(log.time)), rng.integers(3, 10)
    torque = np.zeros_like(log.torque)
    torque[k, j] = 1.05 * limit[j] * rng.choice([-1.0, 1.0])
    return replace(log, torque=torque), {"torque"}


def open_fingers(log, rng):
    """An item is carried, and for a while the fingers are not at it."""
    held = np.flatnonzero(log.held >= 0)
    begin = int(rng.integers(held[0] + 40, held[-1] - 80))
    u = np.clip((np.arange(len(log.time)) - begin) * log.period / 0.6, 0.0, 1.0)
    wider = np.zeros_like(log.q)
    wider[:, 10:] = rng.uniform(0.007, 0.012) * np.sin(np.pi * u)[:, None] ** 2
    wider[log.held < 0] = 0.0
    return replace(log, q=log.q + wider, command=log.command + wider), {"floating"}


def said_to_be_held(log, rng):
    """Something that stands elsewhere."""
    others = np.setdiff1d(np.arange(log.items.shape[1]), log.held)
    return replace(log, held=np.full_like(log.held, rng.choice(others))), {"floating"}


def not_said_to_be_held(log, rng):
    """Where nothing but the hand carries it."""
    item = int(log.held.max())
    raised = np.flatnonzero(log.items[:, item, 2] > log.items[0, item, 2] + 0.01)
    k = int(rng.choice(raised[: -int(0.4 / log.period)]))

    def drop(held):
        held[k : k + int(0.4 / log.period)] = -1

    return changed(log, held=drop), {"floating"}


FAMILIES = (
    missing_sample,
    cut,
    past_a_limit,
    too_fast,
    away_from_its_command,
    not_a_number,
    sunk_item,
    drifting_grip,
    floating_item,
    moving_at_the_end,
    bumped_into,
    unnormalised,
    order_of_motions,
    overloaded,
    open_fingers,
    said_to_be_held,
    not_said_to_be_held,
)
