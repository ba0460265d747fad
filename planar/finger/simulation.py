"""Event-driven simulation of the finger: SciPy's ``solve_ivp`` between events, rules at them.

The state is x_f, v_f, x_o and v_o (fingertip and object) and the epoch, which says whose equations
of motion hold; ``model`` has the equations. For each smooth piece of the force
``Simulation.advance`` runs the event loop, ``_go``:

1. The epoch chooses the method: ``_stay`` (stuck), ``_push`` (pushing), ``_move_apart`` (separate).
2. ``_solve`` integrates the epoch's equations until its first terminal event, a root of a margin,
   or until the piece ends.
3. ``_record`` stores this segment and moves the time to its end.
4. The event's rule changes the state: ``_impact`` when the gap closes, then perhaps ``_settle``,
   the sum of infinitely many bounces; ``_slip`` or ``_part`` when a margin is used up. Where both
   touch at one velocity, ``_touching`` chooses between stuck, pushing and separate.

Each event is logged at its time. docs/contact.md, "The event loop", goes with this file.
"""

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
from galley.planar.finger.trace import Epoch, Event, Kind, Trace, TraceSegment

_TINY_SPEED = 1e-14  # m/s: a closing speed up to this is a rounding error
_ROUNDING = 1e-12  # share of a time that may be a rounding error
_SETTLE_TIME = 1e-3  # s: ever smaller bounces that take no longer than this are summed
# s: the sum is taken only if the change of the acceleration shifts its end by no more than this.
_SETTLE_ERROR = 1e-10
# Shares of each step of the solver at which finger and object must not overlap.
_INSIDE = np.arange(1, 8) / 8.0
_ATTEMPTS = 3  # at finding an overlap inside a step, with ever shorter steps
_Function = Callable[[float, Array], float]


@dataclass(frozen=True)
class Start:
    """Velocities at time 0, when the fingertip is at 0 m and the object at the end of the gap.

    Attributes:
        finger_velocity: m/s, positive towards the object.
        object_velocity: m/s, positive away from the finger; must be 0 for a wall.
    """

    finger_velocity: float = parameter(0.0, SPEED, "of the finger")
    object_velocity: float = parameter(0.0, SPEED, "of the object")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Solver:
    """Tolerances and limits of the integration.

    Attributes:
        rtol: relative tolerance of a step; larger is faster and less exact.
        atol: absolute tolerance of a step, m and m/s.
        max_step: longest step, s. A force given as a function of time is evaluated at least this
            often; a peak shorter than this may be missed.
        max_events: after more events than this the run ends with a fault.
    """

    rtol: float = parameter(1e-9, TOLERANCE, "relative tolerance")
    atol: float = parameter(1e-12, TOLERANCE, "absolute tolerance")
    max_step: float = parameter(0.05, DURATION, "longest step")
    max_events: int = 10_000

    def __post_init__(self) -> None:
        check(self)


class RunError(RuntimeError):
    """The run can't go on.

    A policy, force or drag fails or returns no finite number, the solver fails, or there are too
    many events.
    """


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
        t_end: duration of the run, s.
        start: velocities at time 0; None: both at rest.
        breaks: times (s) at which a force given as a function of time has jumps or kinks.
        solver: tolerances; None: the defaults of ``Solver``.

    Returns:
        The run. If a policy, force or drag raises an error or doesn't return a finite number, the
        run ends there, and ``fault`` gives the reason.

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
            count = math.ceil(t_end / force.period - 1e-9)  # rounding makes no further step
            for k in range(count):
                run.advance(_decided(force, run.sense()), min((k + 1) * force.period, t_end))
        else:
            for piece, end in plan:
                run.advance(piece, end)
    except RunError as fault:
        return run.trace(str(fault))
    return run.trace()


def _decided(policy: Policy, sense: Sense) -> float:
    """The force (N) that a policy returns; raises ``RunError`` if it fails."""
    try:
        value = policy.act(sense)
        force = float(value)
    except (Exception, SystemExit) as error:
        raise _failed("policy", sense.time, error) from error
    if not math.isfinite(force):
        raise RunError(f"the policy returned {value!r} at {sense.time:g} s")
    return force


def _failed(name: str, time: float, error: BaseException) -> RunError:
    """The fault for an error that a user's policy, force or drag raised at a time (s)."""
    return RunError(f"the {name} failed at {time:g} s: {type(error).__name__}: {error}")


class Simulation:
    """A run that is advanced step by step; ``simulate`` runs it to the end.

    Attributes:
        finger: the parameters.
        time: present time, s.
        epoch: present epoch, which chooses the equations of motion.
        x_f, v_f, x_o, v_o: present positions (m) and velocities (m/s) of fingertip and object.
        events: the log until now, in the order of time.
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
        self._segments: list[TraceSegment] = []
        self._solver = solver or Solver()
        self._force: Force = Constant(0.0)
        # Direction of the object's motion, which sets that of friction. It is state of its own:
        # at the start of a slip the velocity is still 0, but the direction is 1.
        self._sign = _sign(self.v_o)
        # Of a separate epoch: whether the gap grows. Only a gap that closes can end in a touch.
        self._opening = self.v_f < self.v_o
        # The finger's last direction, for the log of turns.
        self._heading = _sign(self.v_f)

    def advance(self, force: Force | float, until: float) -> None:
        """Simulate to the time ``until`` (s) under a force (N) that is constant or smooth in time.

        Raises:
            RunError: the force or a drag failed, or there are too many events. The run keeps the
                segments and events before that.
        """
        self._force = force if callable(force) else Constant(float(force))
        try:
            self._go(until)
        except RunError:
            raise
        except (Exception, SystemExit) as error:  # it ends the run, not the program
            reason = f"{type(error).__name__}: {error}"
            raise RunError(f"a drag law failed after {self.time:g} s: {reason}") from error

    def _go(self, until: float) -> None:
        """The event loop: one epoch after another until the time ``until`` (s)."""
        # A new force may end the epoch at once, so decide again before the first step. The last
        # piece may also have ended at the very instant of a touch.
        if self.x_f >= self.x_o and self.epoch is Epoch.SEPARATE:
            if self.v_f - self.v_o > _TINY_SPEED:
                self._impact(until)
            elif self.v_f - self.v_o >= -_TINY_SPEED:
                self._touching()
        elif self.epoch is not Epoch.SEPARATE:
            self._touching()
        while self.time < until:
            if len(self.events) > self._solver.max_events:
                raise RunError(f"more than {self._solver.max_events} events by {self.time:g} s")
            if self.epoch is Epoch.STUCK:
                self._stay(until)
            elif self.epoch is Epoch.PUSHING:
                self._push(until)
            else:
                self._move_apart(until)

    def sense(self) -> Sense:
        """What the finger feels now: its own motion, and the sensor's reading."""
        constant = 0.0  # the compression; none while separate
        if self.epoch is Epoch.STUCK:
            constant = self._applied()
        elif self.epoch is Epoch.PUSHING:
            constant = self.finger.compression(self._applied(), self.v_f, self._sign)
        # Each impact of the last contact time still reads as J / dt; the newest come first.
        pulses = 0.0
        for event in reversed(self.events):
            if event.time + self.finger.contact_time < self.time * (1.0 - _ROUNDING):
                break
            pulses += event.impulse / self.finger.contact_time
        return Sense(self.time, self.x_f, self.v_f, max(constant, 0.0) + pulses)

    def trace(self, fault: str | None = None) -> Trace:
        """The run from time 0 until now; ``fault``: why it ended early, if it did."""
        segments = tuple(self._segments) or (self._start(),)
        return Trace(self.finger, self.time, tuple(self.events), segments, fault)

    def _start(self) -> TraceSegment:
        """The one segment, without duration, of a run that failed before its first step."""
        state = np.array([[self.x_f], [self.v_f], [self.x_o], [self.v_o]])
        steps, force = frozen([self.time]), Constant(0.0)
        return TraceSegment(
            *(self.time, self.time, self.epoch, force, self._sign, steps),
            lambda t: np.repeat(state, len(t), axis=1),
        )

    # Epochs. Each method integrates until the first terminal event, or to ``until``, records the
    # segment, and applies the event's rule.

    def _stay(self, until: float) -> None:
        """Stuck: nothing moves while the push is between 0 and the static friction.

        Events: 0, the push becomes a pull; 1, the push exceeds the static friction.
        """
        end, ended = until, -1
        # ``_touching`` has checked a constant force: it can't leave the range.
        if not isinstance(self._force, Constant):
            events = [
                _event(lambda t, y: self.finger.press_margin(self._applied(t)), -1),
                _event(lambda t, y: self.finger.slip_margin(self._applied(t)), -1),
            ]
            solution = self._solve(lambda t, y: [0.0], [0.0], until, events)  # only for the events
            end, ended = solution.t[-1], _ended(solution)
        x = self.x_f
        rest = np.array([[x], [0.0], [x], [0.0]])
        self._record(end, lambda t: np.repeat(rest, len(t), axis=1))
        if ended == 0:
            self._part()
        elif ended == 1:
            self._slip()

    def _push(self, until: float) -> None:
        """Pushing: finger and object move as one body, with y = (position, velocity).

        Events: 0, the compression between them becomes tension; 1, they come to rest.
        """
        finger, sign = self.finger, self._sign

        def flow(t: float, y: Array) -> list[float]:
            v = float(y[1])  # as NumPy's scalars they would take twice as long
            return [v, self._finite(finger.joint_acceleration(self._applied(t), v, sign), t)]

        events = [
            _event(lambda t, y: finger.tension_margin(self._applied(t), float(y[1]), sign), -1),
            _event(lambda t, y: sign * y[1], -1),
        ]
        solution = self._solve(flow, [self.x_o, self.v_o], until, events)
        self.x_f = self.x_o = float(solution.y[0, -1])
        self.v_f = self.v_o = float(solution.y[1, -1])
        joint = solution.sol
        self._record(solution.t[-1], lambda t: np.tile(joint(t), (2, 1)), solution.t)
        ended = _ended(solution)
        if ended == 0:
            self._part()
        elif ended == 1:
            self.v_o = 0.0  # exactly: the root leaves a rounding error
            self._touching()

    def _move_apart(self, until: float) -> None:
        """Separate: finger and object move by themselves, with y = (x_f, v_f, x_o, v_o).

        The gap either opens or closes, and the terminal events differ:

            opening     1 it starts to close                  2 the object stops
            closing     1 it starts to open again   2 touch   3 the object stops

        So the solver never looks for a touch right after the bodies have parted, where the gap is 0
        and its root would be the starting point. Event 0, the finger turns, ends nothing.
        """
        finger, sign = self.finger, self._sign

        def flow(t: float, y: Array) -> list[float]:
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
        solution = self._solve(flow, begin, until, events)
        # The solver looks for roots between the ends of a step. A touch that opens again inside of
        # one shows no change of sign: integrate again, with shorter steps and no farther than that.
        for _ in range(_ATTEMPTS):
            if (missed := self._missed(solution)) is None:
                break
            solution = self._solve(flow, begin, missed[1], events, (missed[1] - missed[0]) / 8.0)
        self.x_f, self.v_f, self.x_o, self.v_o = (float(value) for value in solution.y[:, -1])
        self._record(solution.t[-1], solution.sol, solution.t)
        self._log_turns(solution)
        ended = _ended(solution)
        touched = ended == 2 and not self._opening
        if ended == 1:
            self._opening = not self._opening
            # A gap within rounding can be closed before the closing speed exceeds rounding: then
            # the touch has no root of its own.
            touched = not self._opening and self.x_f >= self.x_o
        if touched:
            self.x_f = self.x_o  # exactly: the root leaves a rounding error
            if self.v_f - self.v_o > _TINY_SPEED:
                self._impact(until)
            else:
                self._touching()
        elif ended >= 2:
            self.v_o = self._sign = 0.0
            self._log(Kind.STOP)

    def _missed(self, solution: Any) -> tuple[float, float] | None:
        """Start and end (s) of the first step inside which the gap closes and opens again."""
        allowed = self._solver.atol + self._solver.rtol * abs(self.x_o)
        for k, (start, end) in enumerate(itertools.pairwise(solution.t.tolist())):
            x_f, _, x_o, _ = solution.sol.interpolants[k](start + (end - start) * _INSIDE)
            if (x_f - x_o).max() > allowed:
                return start, end
        return None

    # Rules at events.

    def _impact(self, until: float) -> None:
        """The finger hits the object: exchange momentum, then part, settle or stay in touch."""
        closing, rested = self.v_f - self.v_o, self.v_o == 0.0
        force = self._applied()
        impulse, self.v_f, self.v_o = self.finger.impact(force, self.v_f, self.v_o)
        self._log(Kind.TOUCH, impulse, closing)
        self._sign, self._heading = _sign(self.v_o), _sign(self.v_f)
        # A resting object slips only if the impact exceeds its friction; one that moves may stop.
        if rested != (self.v_o == 0.0):
            self._log(Kind.SLIP if rested else Kind.STOP)
        self._opening = True
        if self.v_o - self.v_f <= _TINY_SPEED:  # plastic: they don't part
            self._touching()
        else:
            self._settle(until)

    def _settle(self, until: float) -> None:
        """Replace infinitely many, ever smaller bounces by their limit, if it is near.

        Finger and object part at speed w and approach again with acceleration A. Each flight takes
        e times the one before it, the first 2 w / A, all together T = 2 w / (A (1 - e)): a
        geometric series. Their impulses sum to J = m w (1 + e) / (1 - e), with the reduced mass m;
        of the finger alone before an object that rests. In T the pair moves with the velocity and
        acceleration of its centre of mass. Nothing happens where this isn't exact enough: the next
        bounce is simulated.
        """
        finger, e = self.finger, self.finger.restitution
        force, parting = self._applied(), self.v_o - self.v_f
        closing = self._closing_acceleration(force, self.v_f, self.v_o)
        if e == 1.0 or closing <= 0.0:  # no energy is lost, or they don't approach again
            return
        duration = 2.0 * parting / (closing * (1.0 - e))
        end = self.time + duration
        if duration > _SETTLE_TIME or end > until:
            return
        # Before an object that rests the finger bounces as on a wall.
        x, mass, velocity, acceleration = self.x_o, finger.finger_mass, 0.0, 0.0
        if self._sign:  # the object moves, and the bounces end in a push
            mass = finger.reduced_mass
            velocity = self.v_o - parting * mass / finger.object_mass  # of the centre of mass
            acceleration = finger.joint_acceleration(force, velocity, self._sign)
            alone = self.v_o + finger.object_acceleration(self.v_o, self._sign) * duration
            if min(self._sign * alone, self._sign * (velocity + acceleration * duration)) <= 0.0:
                return  # the object stops during the bounces, which changes its friction
        after = velocity + acceleration * duration
        # A must be as good as constant, or the series isn't geometric.
        change = self._closing_acceleration(self._applied(end), after, after) - closing
        if abs(change) * duration > _SETTLE_ERROR * closing:
            return
        start = self.time

        def motion(times: Any) -> Array:
            s = times - start
            joint = [x + (velocity + 0.5 * acceleration * s) * s, velocity + acceleration * s]
            return np.stack([*joint, *joint])

        self._record(end, motion)
        self.x_f = self.x_o = float(motion(end)[0])
        self.v_f = self.v_o = after
        self._log(Kind.SETTLE, mass * parting * (1.0 + e) / (1.0 - e))
        self._touching()

    def _touching(self) -> None:
        """Finger and object touch at one velocity: choose between stuck, pushing and separate.

        Moving bodies push on unless the finger pulls. Resting ones slip if the push exceeds the
        static friction, part if it is a pull, and are stuck otherwise.
        """
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
            # Pushing forwards at velocity 0 is a slip that has just begun: it is logged already.
            # After a motion backwards it is a new one.
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
        """The push exceeds the static friction: the object starts to move forwards."""
        self.epoch, self._sign = Epoch.PUSHING, 1.0
        self._log(Kind.SLIP)

    def _part(self) -> None:
        """Compression has become tension, which a fingertip can't exert: they part."""
        if self.epoch is not Epoch.SEPARATE:
            self._log(Kind.PART)
        self.epoch, self._opening, self._heading = Epoch.SEPARATE, True, _sign(self.v_f)

    def _log_turns(self, solution: Any) -> None:
        """Log where the finger's velocity changes sign, not where it only starts from rest."""
        for root in solution.t_events[0].tolist():
            # The velocity at a root is 0: the next step of the solver has the new direction.
            later = solution.y[1][solution.t > root]
            heading = _sign(float(later[0])) if len(later) else 0.0
            if heading and heading == -self._heading:
                position = float(solution.sol(root)[0])
                self.events.append(Event(root, Kind.TURN, position))
            self._heading = heading or self._heading
        self._heading = _sign(self.v_f) or self._heading

    # Forces, the solver, and the records.

    def _applied(self, time: float | None = None) -> float:
        """The applied force (N) at a time (s); None: at the present time."""
        time = self.time if time is None else time
        try:
            force = float(self._force(time))
        except (Exception, SystemExit) as error:
            raise _failed("force", time, error) from error
        if not math.isfinite(force):
            raise RunError(f"the force is {force} N at {time:g} s")
        return force

    def _finite(self, acceleration: float, time: float) -> float:
        """An acceleration (m/s^2) at a time (s), if it is a finite number."""
        if not math.isfinite(acceleration):  # the solver would shorten its step for ever
            raise RunError(f"an acceleration is {acceleration} m/s^2 at {time:g} s: check the drag")
        return acceleration

    def _closing_acceleration(self, force: float, v_f: float, v_o: float) -> float:
        """Rate (m/s^2) at which the separate finger's closing speed grows, now."""
        finger = self.finger
        pull = finger.object_acceleration(v_o, self._sign)
        return self._finite(finger.finger_acceleration(force, v_f) - pull, self.time)

    def _solve(
        self,
        flow: Callable[[float, Array], list[float]],
        y: list[float],
        until: float,
        events: list[_Function],
        max_step: float = math.inf,
    ) -> Any:
        """Integrate y' = flow(t, y) from now to the first terminal event, or to ``until`` (s).

        Returns:
            SciPy's result: times ``t`` of the steps, states ``y`` at them, dense output ``sol``,
            roots ``t_events`` of each event, and ``status``: 1 if a terminal event ended it.
        """
        from scipy.integrate import solve_ivp  # late: parameters alone start at once

        solver = self._solver
        solution = solve_ivp(
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
        if solution.status < 0:
            raise RunError(f"the solver failed at {solution.t[-1]:g} s: {solution.message}")
        return solution

    def _record(self, end: float, motion: Any, steps: Array | None = None) -> None:
        """Store the segment from the present time to ``end`` (s), and set the time to ``end``.

        Args:
            end: s; without any duration there is no segment.
            motion: see ``TraceSegment``.
            steps: times (n,) of the solver's steps, s; None: only start and end.
        """
        start, self.time = self.time, float(end)
        if self.time > start:
            steps = frozen([start, end] if steps is None else steps)
            self._segments.append(
                TraceSegment(start, self.time, self.epoch, self._force, self._sign, steps, motion)
            )

    def _log(self, kind: Kind, impulse: float = 0.0, closing: float = 0.0) -> None:
        """Log an event at the present time; impulse in N s, closing speed in m/s."""
        self.events.append(Event(self.time, kind, self.x_f, impulse, closing))


def _sign(value: float) -> float:
    """The sign of a number: -1, 0 or 1."""
    return float((value > 0.0) - (value < 0.0))


def _event(function: _Function, direction: int, terminal: bool = True) -> _Function:
    """An event of ``solve_ivp``: a root of ``function``, rising (1), falling (-1) or either (0)."""
    function.terminal, function.direction = terminal, direction  # type: ignore[attr-defined]
    return function


def _ended(solution: Any) -> int:
    """Index of the event that ended an integration, -1 if it reached its end.

    Of several at one instant the last in the list counts.
    """
    if solution.status != 1:
        return -1
    return max(k for k, times in enumerate(solution.t_events) if solution.t[-1] in times)
