"""Captions: the texts in each picture of a film, and how they are drawn.

A dark bar at the bottom, and tags in the corners. Each part is a layer of its own, cached while its
text is the same, for drawing text is the slowest step of all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PilImage
from PIL import ImageDraw

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.domain.words import in_words
from galley.robots.model import RobotModel
from galley.viz.film.frames import Frames, action_numbers, split_line
from galley.viz.render.tags import Color, font
from galley.viz.render.view import Image

EVENT_TIME = 1.2  # s for which the end of a motion is shown
_RECOVERY = re.compile(r"(recovery \d+):\s*")
_EXPECTED = ("grip", "contact")  # beginnings of the ends that guards are meant to cause
_BAR: Color = (20, 24, 30)
_WHITE: Color = (250, 250, 250)
_GREY: Color = (176, 186, 198)
_ORANGE: Color = (250, 150, 40)
_GREEN: Color = (110, 214, 140)
_RED: Color = (255, 110, 96)
_ALERT: Color = (205, 80, 10)
_OPACITY = 204  # of 255
_SMALLER = 0.8  # size of letters above the bar relative to those in it
_TINY = 0.26  # height of the PDDL's letters relative to the bar
_LEGIBLE = 9.0  # pixels, of letters
_FULL_SCALE = 1.5  # of the gauge, in limits


@dataclass(frozen=True)
class Caption:
    """The texts of one picture; empty ones are left out.

    Attributes:
        action: in the bar at the bottom, left, such as ``3/8  put the sugar box on the counter``.
        phase: after it, such as ``approach``.
        clock: at the bar's right end, such as ``12.4 s``.
        badge: in a frame at the top right, such as ``2x speed``.
        title: at the top left.
        mode: small, before the clock: ``physics`` or ``kinematic``.
        alert: on orange at the top left, under the title: ``recovery 1``.
        event: just above the bar: how the last motion ended, ``close fingers: grip, 40 N``.
        expected: whether the event was intended (green), or something went wrong (red).
        force: N on a finger, in a gauge at the right, above the bar; 0: no gauge.
        limit: N, of the fingers' motors, marked in the gauge.
        pddl: small, under the action, in pictures of some height: ``(place sugar counter h1)``.
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
    """Split the mention of a recovery off a log's line.

    ``"recovery 1: (pick sugar burner h1) | reach"`` gives ``recovery 1`` and the rest.
    """
    found = _RECOVERY.match(line)
    return (found.group(1), line[found.end() :]) if found else ("", line)


def action_captions(
    lines: list[str], scene: Scene, plans: Sequence[Sequence[str]] = ()
) -> list[tuple[str, str, str]]:
    """Numbered words, PDDL and phase for each motion's line of a log.

    Args:
        lines: of the log.
        scene: for the words.
        plans: the actions of the plan and of each recovery's, those without motions included.
            Actions are numbered within the plan that they belong to; without ``plans``, in order.
    """
    numbers, count = action_numbers(lines), 0
    if not plans:
        count = numbers[-1] + 1 if numbers else 0
    captions = []
    for n, line in zip(_places(lines, plans) if plans else numbers, lines, strict=True):
        recovery, rest = split_recovery(line)
        action, phase = split_line(rest)
        total = count or len(_plan_of(recovery, plans))
        number = f"{n + 1}/{total}  " if n is not None else ""
        captions.append((number + in_words(action, scene), action and f"({action})", phase))
    return captions


def _plan_of(recovery: str, plans: Sequence[Sequence[str]]) -> Sequence[str]:
    """The plan that a line belongs to which mentions this recovery, or none."""
    number = int(recovery.rpartition(" ")[2] or 0)
    return plans[number] if number < len(plans) else ()


def _places(lines: list[str], plans: Sequence[Sequence[str]]) -> list[int | None]:
    """The index of each line's action in its plan; None for a line of no action."""
    places: list[int | None] = []
    before: tuple[str, str] | None = None
    following = 0  # the first action of the plan that this line may belong to
    for line in lines:
        recovery, rest = split_recovery(line)
        action = split_line(rest)[0]
        if before is None or before[0] != recovery:
            following = 0
        if (recovery, action) != before:
            plan = [split_line(each)[0] for each in _plan_of(recovery, plans)]
            place = plan.index(action, following) if action in plan[following:] else None
            following = following if place is None else place + 1
        places.append(place)
        before = (recovery, action)
    return places


def speed_badge(speed: float) -> str:
    """``2x speed``, or nothing at real speed."""
    return "" if abs(speed - 1.0) < 1e-9 else f"{speed:g}x speed"


def film_captions(
    log: Log,
    frames: Frames,
    scene: Scene,
    robot: RobotModel,
    speed: float,
    title: str,
    plans: Sequence[Sequence[str]] = (),
) -> tuple[Caption, ...]:
    """The caption of each picture of a film.

    Args:
        log: of the run.
        frames: of the film.
        scene, robot: for names, and the fingers' forces with their limit.
        speed: seconds of log per second of film.
        title: of the whole film, or empty.
        plans: see ``action_captions``.
    """
    lines = [str(line) for line in log.motions]
    texts = action_captions(lines, scene, plans)
    alerts = [split_recovery(line)[0] for line in lines]
    ends, last = _ends(log), _End(-np.inf, "", True)
    force = finger_force(log, robot)
    captions = []
    for t, motion in zip(frames.time, frames.motion, strict=True):
        action, pddl, phase = texts[motion] if 0 <= motion < len(texts) else ("", "", "")
        while ends and ends[0].time <= t:
            last = ends.pop(0)
        event = last.words if t < last.time + EVENT_TIME * max(1.0, speed) else ""
        now = min(int(np.searchsorted(log.time, t + 1e-9)), len(log.time)) - 1
        captions.append(
            Caption(
                action,
                phase,
                f"{t - frames.time[0]:.1f} s",
                speed_badge(speed),
                title,
                log.mode,
                alerts[motion] if 0 <= motion < len(alerts) else "",
                event,
                last.expected,
                round(float(force[max(now, 0)])),
                round(scene.physics.finger_force),
                pddl,
            )
        )
    return tuple(captions)


@dataclass(frozen=True)
class _End:
    """The early end of a motion: time (s), words, and whether it was expected."""

    time: float
    words: str
    expected: bool


def _ends(log: Log) -> list[_End]:
    """The early ends of motions, in order of time.

    None was meant that asked for another force, or after which the run had to recover.
    """
    ends, recoveries = [], [split_recovery(str(line))[0] for line in log.motions]
    for k, why in enumerate(log.ends):
        samples = np.flatnonzero(log.motion == k)
        if str(why) and len(samples):
            phase = split_line(split_recovery(str(log.motions[k]))[1])[1]
            meant = str(why).startswith(_EXPECTED) and " instead of " not in str(why)
            meant = meant and recoveries[k] == [*recoveries, recoveries[k]][k + 1]
            ends.append(_End(float(log.time[samples[-1]]), f"{phase}: {why}", meant))
    return sorted(ends, key=lambda end: end.time)


def finger_force(log: Log, robot: RobotModel) -> Array:
    """Total normal force (T,), N, on the finger with the larger one."""
    names = [str(name) for name in log.names]
    totals = [np.zeros(len(log.time))]
    force = np.nan_to_num(log.contact_force)
    for finger in robot.fingers:
        if finger in names:
            mine = (log.contact_pair == names.index(finger)).any(axis=1)
            total = np.zeros(len(log.time))
            np.add.at(total, log.contact_step[mine], force[mine])
            totals.append(total)
    return np.asarray(np.max(totals, axis=0))


@dataclass(frozen=True)
class _CaptionLayer:
    """A layer to draw over a part of a picture whose corner is at (left, top).

    Attributes:
        keep: 256 x transparency (h, w, 1).
        add: 256 x opacity x colour (h, w, 3).
    """

    left: int
    top: int
    keep: NDArray[np.uint16]
    add: NDArray[np.uint16]

    @property
    def width(self) -> int:
        """In pixels."""
        return int(self.keep.shape[1])

    def draw(self, picture: Image) -> None:
        """Draw into a picture, clipped to its size."""
        part = picture[self.top :, self.left :][: len(self.keep), : self.width]
        height, width = part.shape[:2]
        part[:] = (part * self.keep[:height, :width] + self.add[:height, :width]) >> 8


def caption_height(height: int) -> int:
    """Height of the bar, pixels, for a picture of this height."""
    return max(28, round(0.075 * height))


def draw_caption(picture: Image, caption: Caption) -> Image:
    """A copy of a picture (h, w, 3) with its caption."""
    drawn = picture.copy()
    height, width = drawn.shape[:2]
    c = caption
    if c.action or c.phase or c.clock:
        _bar(width, height, c.action, c.pddl, c.phase, c.mode, len(c.clock)).draw(drawn)
        if c.clock:
            _clock(width, height, c.clock).draw(drawn)
    if c.title:
        room = 0.70 if c.badge else 0.92
        _tag(width, height, c.title, room, "top left", _WHITE, _BAR).draw(drawn)
    if c.badge:
        _tag(width, height, c.badge, 0.22, "top right", _ORANGE, _BAR).draw(drawn)
    if c.alert:
        corner = "below top left" if c.title else "top left"
        _tag(width, height, c.alert, 0.5, corner, _WHITE, _ALERT).draw(drawn)
    if c.event:
        color = _GREEN if c.expected else _RED
        event = _tag(width, height, c.event, 0.9, "bottom left", color, _BAR)
        if (
            c.force > 0
            and event.width + _gauge(width, height, c.force, c.limit).width > 0.95 * width
        ):
            event = _tag(width, height, c.event, 0.9, "above bottom left", color, _BAR)
        event.draw(drawn)
    if c.force > 0:
        _gauge(width, height, c.force, c.limit).draw(drawn)
    return drawn


def _sizes(height: int) -> tuple[int, int, int]:
    """Heights of bar and letters, and the margin, pixels."""
    bar = caption_height(height)
    return bar, round(0.50 * bar), round(0.40 * bar)


@lru_cache(maxsize=64)
def _bar(
    width: int, height: int, action: str, pddl: str, phase: str, mode: str, clock: int
) -> _CaptionLayer:
    """Action, phase and mode; ``clock``: number of characters to leave free for the clock.

    The PDDL stands in small letters under the words, unless it would be too small to be read.
    """
    bar, size, margin = _sizes(height)
    ground = _ground(width, bar, _BAR)
    draw = ImageDraw.Draw(ground)
    right, small = width - margin - _text_width("0" * clock, size), round(0.75 * size)
    tiny = round(_TINY * bar) if pddl and _TINY * bar >= _LEGIBLE else 0
    if tiny:
        size = round(0.84 * size)
    needed = 3 * margin + _text_width(action, size) + _text_width(phase, size)
    if mode and needed + margin + _text_width(mode, small) <= right:
        right -= margin + _text_width(mode, small)
        _text(draw, right, bar, mode, small, _GREY)
    row = bar - tiny
    action = _fitted(action, size, right - 3 * margin - _text_width(phase, size))
    _text(draw, margin, row, action, size, _WHITE)
    _text(draw, 2 * margin + _text_width(action, size), row, phase, size, _ORANGE)
    if tiny:
        pddl = _fitted(pddl, tiny, right - 2 * margin)
        _text(draw, margin, round(1.25 * tiny), pddl, tiny, _GREY, bar - round(1.55 * tiny))
    return _layer(ground, 0, height - bar)


@lru_cache(maxsize=8)
def _clock(width: int, height: int, clock: str) -> _CaptionLayer:
    bar, size, margin = _sizes(height)
    room = round(_text_width(clock, size))
    ground = PilImage.new("RGBA", (room + 2, bar), (*_GREY, 0))
    _text(ImageDraw.Draw(ground), 0, bar, clock, size, _GREY)
    return _layer(ground, width - margin - room, height - bar)


@lru_cache(maxsize=64)
def _tag(
    width: int, height: int, text: str, room: float, corner: str, color: Color, ground: Color
) -> _CaptionLayer:
    """A text on a coloured ground, at most a share ``room`` of the width wide."""
    bar, size, _ = _sizes(height)
    margin = round(0.35 * bar)
    if "bottom" in corner:
        size = round(_SMALLER * size)
    text = _fitted(text, size, room * width)
    tag = _ground(round(_text_width(text, size)) + 2 * margin, round(1.7 * size), ground)
    _text(ImageDraw.Draw(tag), margin, tag.height, text, size, color)
    left = width - margin - tag.width if corner.endswith("right") else margin
    top = margin
    if corner.startswith("below"):
        top += tag.height + margin // 2
    if "bottom" in corner:
        rows = 2 if corner.startswith("above") else 1
        top = height - bar - rows * (tag.height + margin // 2)
    return _layer(tag, left, top)


@lru_cache(maxsize=256)
def _gauge(width: int, height: int, force: int, limit: int) -> _CaptionLayer:
    """A force as a gauge with its limit, and in newtons, at the right above the bar.

    Red where it is beyond the gauge's end, as no grip is.
    """
    bar, size, _ = _sizes(height)
    size, margin = round(_SMALLER * size), round(0.35 * bar)
    share = force / (_FULL_SCALE * (limit or force))
    fill, color = (_RED, _RED) if share > 1.0 else (_ORANGE, _WHITE)
    label, number = "fingers", f"{force} N"
    most = f"{'above ' if share > 1.0 else ''}limit {limit} N" if limit else ""
    length, words, digits = round(2.6 * bar), _text_width(label, size), _text_width("888 N", size)
    full = round(words + length + digits + _text_width(most, size)) + 4 * margin
    full += margin * bool(limit)
    tag = _ground(full, round(1.7 * size), _BAR)
    draw = ImageDraw.Draw(tag)
    _text(draw, margin, tag.height, label, size, _GREY)
    left, low, high = round(words) + 2 * margin, round(0.34 * tag.height), round(0.66 * tag.height)
    draw.rectangle((left, low, left + length, high), fill=(70, 78, 88, 255))
    draw.rectangle((left, low, left + round(length * min(share, 1.0)), high), fill=(*fill, 255))
    if limit:
        mark, thick = left + round(length / _FULL_SCALE), max(1, tag.height // 16)
        draw.rectangle((mark, low - thick, mark + thick, high + thick), fill=(*_WHITE, 255))
    _text(draw, left + length + margin, tag.height, number, size, color)
    _text(draw, round(left + length + 2 * margin + digits), tag.height, most, size, _GREY)
    return _layer(tag, width - margin - full, height - bar - tag.height - margin // 2)


def _ground(width: int, height: int, color: Color) -> PilImage.Image:
    return PilImage.new("RGBA", (width, height), (*color, _OPACITY))


def _layer(drawn: PilImage.Image, left: int, top: int) -> _CaptionLayer:
    pixels = np.asarray(drawn, dtype=np.float64)
    opacity = pixels[..., 3:] / 255.0
    return _CaptionLayer(
        max(left, 0),
        max(top, 0),
        np.round(256.0 * (1.0 - opacity)).astype(np.uint16),
        np.round(256.0 * opacity * pixels[..., :3]).astype(np.uint16),
    )


def _text_width(text: str, size: int) -> float:
    """Width of a text in pixels."""
    probe = ImageDraw.Draw(PilImage.new("RGB", (4, 4)))
    return float(probe.textlength(text, font=font(size))) if text else 0.0


def _fitted(text: str, size: int, room: float) -> str:
    """The text, truncated with dots to a width of ``room`` pixels."""
    if _text_width(text, size) <= room:
        return text
    while text and _text_width(text + "...", size) > room:
        text = text[:-1]
    return text.rstrip() + "..."


def _text(
    draw: ImageDraw.ImageDraw,
    x: float,
    height: int,
    text: str,
    size: int,
    color: Color,
    above: int = 0,
) -> None:
    """Draw a line of text, vertically centred in a strip of ``height``, ``above`` pixels down."""
    if text:
        _, top, _, bottom = draw.textbbox((0, 0), "H", font=font(size))
        place = (round(x), above + round(0.5 * (height - top - bottom)))
        draw.text(place, text, font=font(size), fill=(*color, 255))
