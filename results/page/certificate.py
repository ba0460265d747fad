"""Why a failure is certain: its certificate in words, and what is in the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from galley.domain.scene.model import Scene
from galley.results.page.timeline import in_sentence, mishap
from galley.robots.model import RobotModel


@dataclass
class Explanation:
    """A certificate for a person.

    Attributes:
        sentences: what it shows.
        blockers: names of bodies and items that are to be marked in a picture of the scene.
        also: messages of further proofs.
        raw: the certificate as JSON.
    """

    sentences: list[str]
    blockers: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    raw: str = ""


def explain(
    failure: Mapping[str, Any],
    scene: Scene,
    robot: RobotModel,
    recoveries: Sequence[Mapping[str, Any]] = (),
) -> Explanation:
    """The certificate of a failure of the report; without one, what the run had to recover from."""
    certificate = failure.get("certificate")
    if not isinstance(certificate, dict):
        said = ["This proves nothing: a limit was reached before a solution or a proof was found."]
        if recoveries:
            rows = [list(row) for _, row in groupby(recoveries, key=mishap)]
            said = ["The run recovered from these mishaps until it gave up."]
            said += map(in_sentence, rows)
        return Explanation(said)
    kind = str(certificate.get("kind") or certificate.get("reason") or "")
    names = [*map(str, failure.get("objects", [])), "the room"]
    blockers: list[Any] = []
    if failure.get("kind") == "blocked" or "blocker" in certificate:
        blockers = [*failure.get("objects", []), certificate.get("blocker")]
    known = {body.name for body in scene.bodies} | scene.item_index.keys()
    called = {b.object for b in scene.bindings if b.kind == "item"} | scene.item_index.keys()
    items = [name for name in names if name in called]
    template = templates(mm=mm).get_template("certificate.txt.jinja")
    text = template.render(
        kind=kind,
        c=certificate,
        names=names,
        numbers=failure.get("numbers", {}),
        items=items,
        things=lambda ks: [items[k] if k < len(items) else f"thing {k + 1}" for k in ks],
        across=_across(certificate) if "widest_m" in certificate else (),
        reach=robot.acting(certificate.get("hand", "")).kinematics.reach
        if kind == "distance-bound"
        else None,
    )
    return Explanation(
        [line for line in text.splitlines() if line],
        tuple(dict.fromkeys(name for name in blockers if name in known)),
        tuple(str(e["message"]) for e in certificate.get("because", []) if "message" in e),
        json.dumps(certificate, indent=1),
    )


def templates(autoescape: bool = False, **filters: Callable[..., str]) -> Any:
    """The page's templates, with filters of these names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("galley.results.page", ""),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= filters
    return found


def mm(metres: float, unit: str = " mm") -> str:
    """A length in millimetres."""
    return f"{1e3 * float(metres):.0f}{unit}"


def _across(c: Mapping[str, Any]) -> list[float]:
    """Horizontal sides of an item as it lies, metres."""
    up = "xyz".index(c.get("vertical_axis", "z"))
    return [float(side) for axis, side in enumerate(c["item_m"]) if axis != up]
