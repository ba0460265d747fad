"""Captions: the texts in each picture of a film, in a bar at the bottom and in tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from PIL import Image as PilImage
from PIL import ImageDraw

from galley.domain.action_text import in_words
from galley.domain.frames import Array
from galley.domain.log import RECOVERY, Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.frames import Frames, split_line
from galley.viz.render.tags import Color, font
from galley.viz.render.view import Image

Plans = Sequence[Sequence[str]]
"""The actions of a run's plan, then those of each recovery's plan."""
EVENT_TIME = 1.2  # s for which the end of a motion is shown
_EXPECTED = ("grip", "contact")  # an intended end of a guarded motion begins with one of these
_BAR: Color = (20, 24, 30)
_WHITE: Color = (250, 250, 250)
_GREY: Color = (176, 186, 198)
_ORANGE: Color = (250, 150, 40)
_GREEN: Color = (110, 214, 140)
_RED: Color = (255, 110, 96)
_ALERT: Color = (205, 80, 10)
_OPACITY = 205  # of 255
_SMALLER = 0.8  # size of the letters above the bar relative to those in it
_TINY = 0.26  # size of the letters of the PDDL action relative to the bar
_LEGIBLE = 9.0  # pixels, the least size of letters that can be read
_CAPITALS = 0.365  # half the height of capitals relative to the letters' size
_TOO_MUCH = 1.5  # times the motors' limit: more force than a grip has


@dataclass(frozen=True)
class Caption:
    """The texts of one picture; empty texts are not drawn.

    Attributes:
        action: in the bar at the bottom left, such as ``3/8  put the sugar box on the counter``.
        phase: after the action, such as ``approach``.
        clock: at the right end of the bar, such as ``12.4 s``.
        badge: in a tag at the top right, such as ``2x speed``.
        title: in a tag at the top left.
        mode: in small letters before the clock, ``physics`` or ``kinematic``.
        alert: on orange at the top left, under the title, such as ``recovery 1``.
        event: just above the bar, the end of the last motion: ``close fingers: grip, 40 N``.
        expected: whether the event was intended (green) or something went wrong (red).
        force: the force on a finger, N, above the bar at the right; 0 is not shown.
        limit: the limit of the fingers' motors, N, beside the force.
        pddl: the action in PDDL, in small letters under the action if they can be read there, such
            as ``(place sugar counter h1)``.
    """

    action: str = ""
    phase: str = ""
    clock: str = ""
    badge: str = ""
    title: str = ""
    mode: str = ""
    alert: str = ""
    event: str = ""
    expected: bool = True
    force: int = 0
    limit: int = 0
    pddl: str = ""


def split_recovery(line: str) -> tuple[str, str]:
    """Split the name of a recovery or a correction off a line of a log.

    ``"recovery 1: (pick sugar burner h1) | reach"`` gives ``recovery 1`` and the rest. Without a
    recovery the name is empty.
    """
    match = RECOVERY.match(line)
    return (f"{match[1]} {match[2]}", line[match.end() :]) if match else ("", line)


def action_captions(
    lines: list[str], scene: Scene, plans: Plans = ()
) -> list[tuple[str, str, str]]:
    """The texts for each motion: the action in words with its number, in PDDL, and the phase.

    Args:
        lines: the log's line of each motion.
        scene: for the names of objects.
        plans: the actions of the plan and of each recovery's plan, which give the numbers. Without
            them, only actions with motions are counted.
    """
    captions = []
    for recovery, motions in groupby(map(split_recovery, lines), key=lambda line: line[0]):
        parts = [split_line(rest) for _, rest in motions]
        number = int(recovery.rpartition(" ")[2] or 0)
        plan = [action for action, _ in groupby(action for action, _ in parts)]
        if number < len(plans):
            plan = [split_line(action)[0] for action in plans[number]]
        following = 0  # index in the plan from which to search for the next action
        for action, same in groupby(parts, key=lambda part: part[0]):
            position = ""
            if action in plan[following:]:
                following = plan.index(action, following) + 1
                position = f"{following}/{len(plan)}  "
            words = (position + in_words(action, scene), action and f"({action})")
            captions += [(*words, phase) for _, phase in same]
    return captions


def speed_badge(speed: float) -> str:
    """The text of the badge, such as ``2x speed``; empty at real speed."""
    return "" if abs(speed - 1.0) < 1e-9 else f"{speed:g}x speed"


def film_captions(
    log: Log, frames: Frames, scene: Scene, robot: RobotModel, speed: float, plans: Plans = ()
) -> tuple[Caption, ...]:
    """The caption of each picture of a film.

    Args:
        log: the log of the run.
        frames: the frames of the film.
        scene, robot: for the names, and for the forces of the fingers and their limit.
        speed: seconds of log per second of film.
        plans: see ``action_captions``.
    """
    lines = [str(line) for line in log.motions]
    texts = action_captions(lines, scene, plans)
    alerts = [split_recovery(line)[0] for line in lines]
    ends, last = _ends(log), (-np.inf, "", True)
    force = finger_force(log, robot)
    captions = []
    for t, motion in zip(frames.time, frames.motion, strict=True):
        action, pddl, phase = texts[motion] if 0 <= motion < len(texts) else ("", "", "")
        while ends and ends[0][0] <= t:
            last = ends.pop(0)
        time, words, expected = last
        event = words if t < time + EVENT_TIME * max(1.0, speed) else ""
        now = min(int(np.searchsorted(log.time, t + 1e-9)), len(log.time)) - 1
        captions.append(
            Caption(
                action,
                phase,
                f"{t - frames.time[0]:.1f} s",
                speed_badge(speed),
                mode=log.mode,
                alert=alerts[motion] if 0 <= motion < len(alerts) else "",
                event=event,
                expected=expected,
                force=round(float(force[max(now, 0)])),
                limit=round(scene.physics.finger_force),
                pddl=pddl,
            )
        )
    return tuple(captions)


def _ends(log: Log) -> list[tuple[float, str, bool]]:
    """The motions that ended early: time (s), text, and whether the end was intended, by time.

    An end is not intended if its force differs from the expected one, or if a recovery follows.
    """
    ends, recoveries = [], [split_recovery(str(line))[0] for line in log.motions]
    for k, why in enumerate(log.ends):
        samples = np.flatnonzero(log.motion == k)
        if str(why) and len(samples):
            phase = split_line(split_recovery(str(log.motions[k]))[1])[1]
            intended = str(why).startswith(_EXPECTED) and " instead of " not in str(why)
            intended = intended and recoveries[k] == [*recoveries, recoveries[k]][k + 1]
            ends.append((float(log.time[samples[-1]]), f"{phase}: {why}", intended))
    return sorted(ends, key=lambda end: end[0])


def finger_force(log: Log, robot: RobotModel) -> Array:
    """The normal force (T,), N: the sum of a finger's contacts, for the finger with the largest."""
    names = [str(name) for name in log.names]
    totals = [np.zeros(len(log.time))]
    force = np.nan_to_num(log.contact_force)
    for finger in (finger for hand in robot.hands for finger in hand.fingers):
        if finger in names:
            rows = (log.contact_pair == names.index(finger)).any(axis=1)
            total = np.zeros(len(log.time))
            np.add.at(total, log.contact_step[rows], force[rows])
            totals.append(total)
    return np.asarray(np.max(totals, axis=0))


def caption_height(height: int) -> int:
    """The height of the bar, pixels, in a picture of this height."""
    return max(28, round(0.075 * height))


def draw_caption(picture: Image, caption: Caption) -> Image:
    """A copy of a picture (h, w, 3) with its caption drawn into it."""
    # Only strips at the top and at the bottom have texts.
    drawn, bar = picture.copy(), caption_height(len(picture))
    strip = 3 * bar
    for part, write in ((drawn[:strip], _write_head), (drawn[-strip:], _write_foot)):
        image = PilImage.fromarray(part)
        write(_Pen(image, bar), caption)
        part[:] = image
    return drawn


def _write_head(pen: _Pen, c: Caption) -> None:
    """Write title, alert and badge at the top of a picture."""
    top = pen.margin
    if c.badge:
        pen.tag(c.badge, top, 0.22, _ORANGE, _BAR, right=True)
    if c.title:
        pen.tag(c.title, top, 0.70 if c.badge else 0.92, _WHITE, _BAR)
        top += pen.line + pen.margin // 2
    if c.alert:
        pen.tag(c.alert, top, 0.5, _WHITE, _ALERT)


def _write_foot(pen: _Pen, c: Caption) -> None:
    """Write the bar at the bottom of a picture, with event and force above it."""
    if c.action or c.phase or c.clock:
        pen.bar_of(c)
    pen.size = round(_SMALLER * pen.size)
    foot, taken = pen.height - pen.bar - pen.margin // 2 - pen.line, 0.0
    if c.force > 0:
        color = _RED if c.limit and c.force > _TOO_MUCH * c.limit else _WHITE
        limit = f" of {c.limit} N" if c.limit else ""
        taken = pen.tag(f"fingers {c.force} N{limit}", foot, 0.9, color, _BAR, right=True)
    if c.event:
        # The event moves up by a line if there is no room for it beside the force.
        if pen.length(c.event) + 4 * pen.margin > pen.width - taken:
            foot -= pen.line + pen.margin // 2
        pen.tag(c.event, foot, 0.9, _GREEN if c.expected else _RED, _BAR)


class _Pen:
    """Draws texts of one size, and the coloured grounds behind them, into a picture."""

    def __init__(self, image: PilImage.Image, bar: int) -> None:
        self.draw = ImageDraw.Draw(image, "RGBA")
        self.width, self.height = image.size
        self.bar = bar
        self.size, self.margin = round(0.50 * self.bar), round(0.35 * self.bar)

    @property
    def line(self) -> int:
        """The height of a tag, pixels."""
        return round(1.7 * self.size)

    def length(self, text: str, size: int | None = None) -> float:
        """The width of a text, pixels, in letters of ``size`` or the pen's size."""
        length: float = font(size or self.size).getlength(text)
        return length

    def text(
        self,
        x: float,
        middle: float,
        text: str,
        color: Color,
        size: int | None = None,
        anchor: str = "ls",
    ) -> None:
        """Write a line of text whose capitals are centred at height ``middle``, pixels."""
        size = size or self.size
        at = (round(x), round(middle + _CAPITALS * size))
        self.draw.text(at, text, fill=color, font=font(size), anchor=anchor)

    def ground(self, left: float, top: float, width: float, height: float, color: Color) -> None:
        """Fill a rectangle, in pixels, with a translucent colour."""
        corners = (round(left), round(top), round(left + width) - 1, round(top + height) - 1)
        self.draw.rectangle(corners, fill=(*color, _OPACITY))

    def fitted(self, text: str, room: float, size: int | None = None) -> str:
        """The text, cut off with dots if it is wider than ``room`` pixels."""
        if self.length(text, size) <= room:
            return text
        while text and self.length(text + "...", size) > room:
            text = text[:-1]
        return text.rstrip() + "..."

    def tag(
        self, text: str, top: int, room: float, color: Color, ground: Color, *, right: bool = False
    ) -> float:
        """Write a text on a coloured ground at the left or the right side of the picture.

        The text is at most a share ``room`` of the picture's width wide. Returns the width that the
        tag takes, pixels.
        """
        text = self.fitted(text, room * self.width)
        across = self.length(text) + 2 * self.margin
        left = self.width - self.margin - across if right else self.margin
        self.ground(left, top, across, self.line, ground)
        self.text(left + self.margin, top + 0.5 * self.line, text, color)
        return across + self.margin

    def bar_of(self, c: Caption) -> None:
        """Write the bar at the bottom: action and phase, mode and clock.

        The PDDL action is in small letters under the words, unless they would be too small to read.
        """
        top, margin, small = self.height - self.bar, round(0.4 * self.bar), round(0.75 * self.size)
        self.ground(0, top, self.width, self.bar, _BAR)
        right = self.width - margin - self.length("0" * len(c.clock))
        middle = top + 0.5 * self.bar
        self.text(self.width - margin, middle, c.clock, _GREY, anchor="rs")
        tiny = round(_TINY * self.bar)
        size = self.size
        if c.pddl and _TINY * self.bar >= _LEGIBLE:
            size, middle = round(0.84 * size), middle - 0.5 * tiny
            pddl = self.fitted(c.pddl, right - 2 * margin, tiny)
            self.text(margin, self.height - 0.9 * tiny, pddl, _GREY, tiny)
        phase = self.length(c.phase, size)
        needed = 4 * margin + self.length(c.action, size) + phase + self.length(c.mode, small)
        if c.mode and needed <= right:
            right -= margin + self.length(c.mode, small)
            self.text(right, top + 0.5 * self.bar, c.mode, _GREY, small)
        action = self.fitted(c.action, right - 3 * margin - phase, size)
        self.text(margin, middle, action, _WHITE, size)
        self.text(2 * margin + self.length(action, size), middle, c.phase, _ORANGE, size)
