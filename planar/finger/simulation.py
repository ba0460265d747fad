"""Simulation, event by event: SciPy's ``solve_ivp`` between events, exact rules at them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.parameters import DURATION, SPEED, TOLERANCE, check, parameter
from galley.planar.finger.force import Constant, Force, Policy, Sense, pieces
from galley.planar.finger.model import Finger
from galley.planar.finger.trace import Epoch, Event, Kind, Segment, Trace

_TINY_SPEED = 1e-14  # m/s: a closing speed that is rounding
_ROUNDING = 1e-12  # of a time
_SETTLE_TIME = 1e-3  # s: ever smaller bounces that take no longer than this are summed
_SETTLE_ERROR = 1e-10  # s: if their limit is that exact, for their acceleration changes meanwhile
# Shares of each step of the solver at which finger and object must not overlap.
_INSIDE = np.arange(1, 8) / 8.0
_ATTEMPTS = 3  # with ever shorter steps, to find where they do
_Function = Callable[[float, Any], float]


@dataclass(frozen=True)
class Start:
    """Velocities at time 0; the fingertip is at 0 m, the object at the gap's other end."""

    finger_velocity: float = parameter(0.0, SPEED, "of the finger")
    object_velocity: float = parameter(0.0, SPEED, "of the object")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Solver:
    """How finely to integrate.

    Attributes:
        rtol: relative tolerance of a step. atol: absolute, m and m/s.
        max_step: s. Forces given as functions of time are looked at this often at least.
        max_events: after so many the run ends with a fault.
    """

    rtol: float = parameter(1e-9, TOLERANCE, "relative tolerance")
    atol: float = parameter(1e-12, TOLERANCE, "absolute tolerance")
    max_step: float = parameter(0.05, DURATION, "longest step")
    max_events: int = 10_000

    def __post_init__(self) -> None:
        check(self)


class Fault(RuntimeError):
    """The run can't go on: a force or drag that is no number, too many events."""


def simulate(
    finger: Finger,
    force: Any,
    t_end: float,
    start: Start | None = None,
    breaks: Sequence[float] = (),
    solver: Solver | None = None,
) -> Trace:
    """Simulate a finger in front of an object.

    Args:
        finger: the parameters.
        force: applied to the finger, N: a number, a function of time (s), (time, force) pairs
            (``Profile``: linear in between, a jump where two have the same time), or a ``Policy``.
        t_end: s.
        start: velocities; None: at rest.
        breaks: times (s) at which a force given as a function of time has jumps or kinks.
        solver: tolerances; None: the defaults of ``Solver``.

    Returns:
        The run. If a policy, force or drag raises an error or returns no finite number, the run
        until there, and why in ``fault``.

    Raises:
        ValueError: malformed arguments; the message names the value.
    """
    t_end = DURATION.checked("t_end", t_end)
    run = Simulation(finger, start, solver)
    if not isinstance(force, Policy):
        plan = pieces(force, t_end, breaks)
    elif force.period > finger.contact_time:
        raise ValueError(
            f"period = {force.period:g} s: must not exceed contact_time = {finger.contact_time:g} "
            "s, or an impact between two control steps would go unfelt"
        )
    try:
        if isinstance(force, Policy):
            count = math.ceil(t_end / force.period - 1e-9)
            for k in range(count):
                run.advance(_decided(force, run.sense()), min((k + 1) * force.period, t_end))
        else:
            for piece, end in plan:
                run.advance(piece, end)
    except Fault as fault:
        return run.trace(str(fault))
    return run.trace()


def _decided(policy: Policy, sense: Sense) -> float:
    try:
        value = policy.act(sense)
        force = float(value)
    except (Exception, SystemExit) as error:
        raise _failed("policy", sense.time, error) from error
    if not math.isfinite(force):
        raise Fault(f"the policy returned {value!r} at {sense.time:g} s")
    return force


def _failed(name: str, time: float, error: BaseException) -> Fault:
    """What a user's code raises ends the run, not the program."""
    return Fault(f"the {name} failed at {time:g} s: {type(error).__name__}: {error}")


class Simulation:
    """A run that is advanced step by step; ``simulate`` does it all at once.

    Attributes:
        finger: the parameters.
        time: s. epoch: now.
        x_f, v_f, x_o, v_o: positions (m) and velocities (m/s) of fingertip and object.
        events: until now.
    """

    def __init__(
        self, finger: Finger, start: Start | None = None, solver: Solver | None = None
    ) -> None:
        start = start or Start()
        if finger.wall and start.object_velocity != 0.0:
            raise ValueError(f"object_velocity = {start.object_velocity:g} m/s: a wall can't move")
        self.finger = finger
        self.time = 0.0
        self.epoch = Epoch.SEPARATE
        self.x_f, self.v_f = 0.0, start.finger_velocity
        self.x_o, self.v_o = finger.gap, start.object_velocity
        self.events: list[Event] = []
        self._segments: list[Segment] = []
        self._solver = solver or Solver()
        self._force: Force = Constant(0.0)
        # Of the object's velocity; kept beside it, for at the start of a slip that is still 0.
        self._sign = _sign(self.v_o)
        self._opening = self.v_f < self.v_o
        self._heading = _sign(self.v_f)

    def advance(self, force: Force | float, until: float) -> None:
        """Go on to the time ``until`` (s) under a force (N), constant or smooth in time.

        Raises:
            Fault: force or drag failed, or too much happens; the run stands where it got to.
        """
        self._force = force if callable(force) else Constant(float(force))
        try:
            self._go(until)
        except Fault:
            raise
        except (Exception, SystemExit) as error:  # it ends the run, not the program
            what = f"{type(error).__name__}: {error}"
            raise Fault(f"a drag law failed after {self.time:g} s: {what}") from error

    def _go(self, until: float) -> None:
        if self.x_f >= self.x_o and self.epoch is Epoch.SEPARATE:
            if self.v_f - self.v_o > _TINY_SPEED:
                self._impact(until)
            elif self.v_f - self.v_o >= -_TINY_SPEED:
                self._touching()
        elif self.epoch is not Epoch.SEPARATE:
            self._touching()
        while self.time < until:
            if len(self.events) > self._solver.max_events:
                raise Fault(f"more than {self._solver.max_events} events by {self.time:g} s")
            if self.epoch is Epoch.STUCK:
                self._stay(until)
            elif self.epoch is Epoch.PUSHING:
                self._push(until)
            else:
                self._move_apart(until)

    def sense(self) -> Sense:
        """What the finger feels now."""
        constant = 0.0
        if self.epoch is Epoch.STUCK:
            constant = self._applied()
        elif self.epoch is Epoch.PUSHING:
            constant = self.finger.compression(self._applied(), self.v_f, self._sign)
        pulses = 0.0
        for event in reversed(self.events):
            if event.time + self.finger.contact_time < self.time * (1.0 - _ROUNDING):
                break
            pulses += event.impulse / self.finger.contact_time
        return Sense(self.time, self.x_f, self.v_f, max(constant, 0.0) + pulses)

    def trace(self, fault: str | None = None) -> Trace:
        """The run until now."""
        segments = tuple(self._segments) or (self._start(),)
        return Trace(self.finger, self.time, tuple(self.events), segments, fault)

    def _start(self) -> Segment:
        """Of a run that goes nowhere, so that it has its first instant."""
        state = np.array([[self.x_f], [self.v_f], [self.x_o], [self.v_o]])
        steps, force = frozen([self.time]), Constant(0.0)
        return Segment(
            *(self.time, self.time, self.epoch, force, self._sign, steps),
            lambda t: np.repeat(state, len(t), axis=1),
        )

    # Epochs. Each integrates until the first event, or to the end.

    def _stay(self, until: float) -> None:
        """Stuck: nothing moves, exactly, while friction bears the push."""
        end, ended = until, -1
        if not isinstance(self._force, Constant):
            events = [
                _event(lambda t, y: self.finger.press_margin(self._applied(t)), -1),
                _event(lambda t, y: self.finger.slip_margin(self._applied(t)), -1),
            ]
            found = self._solve(lambda t, y: [0.0], [0.0], until, events)
            end, ended = found.t[-1], _ended(found)
        x = self.x_f
        rest = np.array([[x], [0.0], [x], [0.0]])
        self._record(end, lambda t: np.repeat(rest, len(t), axis=1))
        if ended == 0:
            self._part()
        elif ended == 1:
            self._slip()

    def _push(self, until: float) -> None:
        """Pushing: one body, until compression becomes tension, or it stops."""
        finger, sign = self.finger, self._sign

        def flow(t: float, y: Any) -> list[float]:
            v = float(y[1])  # as NumPy's scalars they would take twice as long
            return [v, self._finite(finger.joint_acceleration(self._applied(t), v, sign), t)]

        events = [
            _event(lambda t, y: finger.tension_margin(self._applied(t), float(y[1]), sign), -1),
            _event(lambda t, y: sign * y[1], -1),
        ]
        found = self._solve(flow, [self.x_o, self.v_o], until, events)
        self.x_f = self.x_o = float(found.y[0, -1])
        self.v_f = self.v_o = float(found.y[1, -1])
        both = found.sol
        self._record(found.t[-1], lambda t: np.tile(both(t), (2, 1)), found.t)
        ended = _ended(found)
        if ended == 0:
            self._part()
        elif ended == 1:
            self.v_o = 0.0
            self._touching()

    def _move_apart(self, until: float) -> None:
        """Separate. Only a closing gap can become a touch: the two phases are told apart."""
        finger, sign = self.finger, self._sign

        def flow(t: float, y: Any) -> list[float]:
            _, v_f, _, v_o = y.tolist()
            a_f = finger.finger_acceleration(self._applied(t), v_f)
            a_o = finger.object_acceleration(v_o, sign)
            return [v_f, self._finite(a_f, t), v_o, self._finite(a_o, t)]

        events = [_event(lambda t, y: y[1], 0, terminal=False)]
        if self._opening:
            events.append(_event(lambda t, y: y[1] - y[3] - _TINY_SPEED, 1))
        else:
            events.append(_event(lambda t, y: y[1] - y[3] + _TINY_SPEED, -1))
            events.append(_event(lambda t, y: y[2] - y[0], -1))
        if sign:
            events.append(_event(lambda t, y: sign * y[3], -1))
        begin = [self.x_f, self.v_f, self.x_o, self.v_o]
        found = self._solve(flow, begin, until, events)
        for _ in range(_ATTEMPTS):
            if (missed := self._missed(found)) is None:
                break
            found = self._solve(flow, begin, missed[1], events, (missed[1] - missed[0]) / 8.0)
        self.x_f, self.v_f, self.x_o, self.v_o = (float(value) for value in found.y[:, -1])
        self._record(found.t[-1], found.sol, found.t)
        self._log_turns(found)
        ended = _ended(found)
        touched = ended == 2 and not self._opening
        if ended == 1:
            self._opening = not self._opening
            # A gap below rounding is closed before the closing speed is told from rounding.
            touched = not self._opening and self.x_f >= self.x_o
        if touched:
            self.x_f = self.x_o
            if self.v_f - self.v_o > _TINY_SPEED:
                self._impact(until)
            else:
                self._touching()
        elif ended >= 2:
            self.v_o = self._sign = 0.0
            self._log(Kind.STOP)

    def _missed(self, found: Any) -> tuple[float, float] | None:
        """The first step (s) inside which the bodies overlap: the gap closed and opened again."""
        allowed = self._solver.atol + self._solver.rtol * abs(self.x_o)
        for k, (start, end) in enumerate(itertools.pairwise(found.t.tolist())):
            x_f, _, x_o, _ = found.sol.interpolants[k](start + (end - start) * _INSIDE)
            if (x_f - x_o).max() > allowed:
                return start, end
        return None

    # Events.

    def _impact(self, until: float) -> None:
        """The finger hits the object."""
        closing, rested = self.v_f - self.v_o, self.v_o == 0.0
        force = self._applied()
        impulse, self.v_f, self.v_o = self.finger.impact(force, self.v_f, self.v_o)
        self._log(Kind.TOUCH, impulse, closing)
        self._sign, self._heading = _sign(self.v_o), _sign(self.v_f)
        if rested != (self.v_o == 0.0):
            self._log(Kind.SLIP if rested else Kind.STOP)
        self._opening = True
        if self.v_o - self.v_f <= _TINY_SPEED:
            self._touching()
        else:
            self._settle(until)

    def _settle(self, until: float) -> None:
        """End ever smaller bounces in contact, at their limit.

        Finger and object part at speed w and approach again with acceleration A. Each flight takes
        e times the one before it, the first 2 w / A, all together T = 2 w / (A (1 - e)): a
        geometric series. The impulse of all of them is what changes the finger's momentum besides
        its own acceleration in this time, J = m w (1 + e) / (1 - e), m the reduced mass.
        """
        finger, e = self.finger, self.finger.restitution
        force, parting = self._applied(), self.v_o - self.v_f
        closing = self._closing_acceleration(force, self.v_f, self.v_o)
        if e == 1.0 or closing <= 0.0:
            return
        duration = 2.0 * parting / (closing * (1.0 - e))
        end = self.time + duration
        if duration > _SETTLE_TIME or end > until:
            return
        x, mass, velocity, acceleration = self.x_o, finger.finger_mass, 0.0, 0.0
        if self._sign:  # the object moves, and the bounces end in a push
            mass = finger.reduced_mass
            velocity = self.v_o - parting * mass / finger.object_mass  # of the centre of mass
            acceleration = finger.joint_acceleration(force, velocity, self._sign)
            alone = self.v_o + finger.object_acceleration(self.v_o, self._sign) * duration
            if min(self._sign * alone, self._sign * (velocity + acceleration * duration)) <= 0.0:
                return  # it stops before
        after = velocity + acceleration * duration
        change = self._closing_acceleration(self._applied(end), after, after) - closing
        if abs(change) * duration > _SETTLE_ERROR * closing:
            return
        start = self.time

        def motion(times: Any) -> Any:
            s = times - start
            both = [x + (velocity + 0.5 * acceleration * s) * s, velocity + acceleration * s]
            return np.stack([*both, *both])

        self._record(end, motion)
        self.x_f = self.x_o = float(motion(end)[0])
        self.v_f = self.v_o = after
        self._log(Kind.SETTLE, mass * parting * (1.0 + e) / (1.0 - e))
        self._touching()

    def _touching(self) -> None:
        """Finger and object touch at one velocity: do they stay, push on, or part?"""
        finger, force, before = self.finger, self._applied(), self.epoch
        self.v_f = self.v_o
        if self.v_o != 0.0:
            self._sign = _sign(self.v_o)
            if finger.tension_margin(force, self.v_f, self._sign) < 0.0:
                self._part()
            else:
                self.epoch = Epoch.PUSHING
            return
        if finger.slip_margin(force) < 0.0:
            if before is not Epoch.PUSHING or self._sign < 0.0:
                self._slip()
            return
        if before is Epoch.PUSHING:
            self._log(Kind.STOP)
        self._sign = 0.0
        if finger.press_margin(force) < 0.0:
            self._part()
        else:
            self.epoch = Epoch.STUCK

    def _slip(self) -> None:
        """The object starts to move under the finger's push."""
        self.epoch, self._sign = Epoch.PUSHING, 1.0
        self._log(Kind.SLIP)

    def _part(self) -> None:
        """Compression has become tension, which a fingertip can't take."""
        if self.epoch is not Epoch.SEPARATE:
            self._log(Kind.PART)
        self.epoch, self._opening, self._heading = Epoch.SEPARATE, True, _sign(self.v_f)

    def _log_turns(self, found: Any) -> None:
        """Log where the finger's velocity changes sign, not where it only starts from rest."""
        for root in found.t_events[0].tolist():
            later = found.y[1][found.t > root]
            heading = _sign(float(later[0])) if len(later) else 0.0
            if heading and heading == -self._heading:
                position = float(found.sol(root)[0])
                self.events.append(Event(root, Kind.TURN, position))
            self._heading = heading or self._heading
        self._heading = _sign(self.v_f) or self._heading

    # Tools.

    def _applied(self, time: float | None = None) -> float:
        """The applied force (N) at a time (s); now, if omitted."""
        time = self.time if time is None else time
        try:
            force = float(self._force(time))
        except (Exception, SystemExit) as error:
            raise _failed("force", time, error) from error
        if not math.isfinite(force):
            raise Fault(f"the force is {force} N at {time:g} s")
        return force

    def _finite(self, acceleration: float, time: float) -> float:
        if not math.isfinite(acceleration):  # the solver would look for a smaller step for ever
            raise Fault(f"an acceleration is {acceleration} m/s^2 at {time:g} s: check the drag")
        return acceleration

    def _closing_acceleration(self, force: float, v_f: float, v_o: float) -> float:
        finger = self.finger
        pull = finger.object_acceleration(v_o, self._sign)
        return self._finite(finger.finger_acceleration(force, v_f) - pull, self.time)

    def _solve(
        self,
        flow: Callable[[float, Any], list[float]],
        y: list[float],
        until: float,
        events: Any,
        max_step: float = math.inf,
    ) -> Any:
        from scipy.integrate import solve_ivp  # late: parameters alone start at once

        solver = self._solver
        found = solve_ivp(
            flow,
            (self.time, until),
            y,
            method="DOP853",
            dense_output=True,
            events=events,
            rtol=solver.rtol,
            atol=solver.atol,
            max_step=min(max_step, solver.max_step),
        )
        if found.status < 0:
            raise Fault(f"the solver failed at {found.t[-1]:g} s: {found.message}")
        return found

    def _record(self, end: float, motion: Any, steps: Array | None = None) -> None:
        """Keep the stretch from now to ``end``, and go there."""
        start, self.time = self.time, float(end)
        if self.time > start:
            steps = frozen([start, end] if steps is None else steps)
            self._segments.append(
                Segment(start, self.time, self.epoch, self._force, self._sign, steps, motion)
            )

    def _log(self, kind: Kind, impulse: float = 0.0, closing: float = 0.0) -> None:
        self.events.append(Event(self.time, kind, self.x_f, impulse, closing))


def _sign(value: float) -> float:
    return float((value > 0.0) - (value < 0.0))


def _event(function: _Function, direction: int, terminal: bool = True) -> _Function:
    """An event of ``solve_ivp``: where ``function`` crosses 0."""
    function.terminal, function.direction = terminal, direction  # type: ignore[attr-defined]
    return function


def _ended(found: Any) -> int:
    """Index of the event that ended an integration, or -1."""
    if found.status != 1:
        return -1
    return max(k for k, times in enumerate(found.t_events) if found.t[-1] in times)
