"""Why a failure is certain: its certificate in words, and what is in the way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from galley.domain.scene.model import Scene
from galley.results.page.timeline import in_sentence, mishap
from galley.robots.model import RobotModel

Certificate = Mapping[str, Any]


@dataclass
class Explanation:
    """A certificate for a person.

    Attributes:
        sentences: what it shows.
        blockers: names of bodies and items that are to be marked in a picture of the scene.
        also: messages of further proofs.
        raw: the certificate as JSON.
    """

    sentences: list[str] = field(default_factory=list)
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
    known = {body.name for body in scene.bodies} | {item.name for item in scene.items}
    return Explanation(
        _sentences(kind, certificate, failure, names, scene, robot),
        tuple(dict.fromkeys(name for name in blockers if name in known)),
        tuple(str(e["message"]) for e in certificate.get("because", []) if "message" in e),
        json.dumps(certificate, indent=1),
    )


def _sentences(
    kind: str,
    c: Certificate,
    failure: Mapping[str, Any],
    names: list[str],
    scene: Scene,
    robot: RobotModel,
) -> list[str]:
    """What ``certificate.txt.jinja`` says of it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("galley.results.page", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["mm"] = mm
    items = _items(scene, names)
    text = environment.get_template("certificate.txt.jinja").render(
        kind=kind,
        c=c,
        names=names,
        numbers=failure.get("numbers", {}),
        items=items,
        things=lambda ks: [items[k] if k < len(items) else f"thing {k + 1}" for k in ks],
        across=_across(c) if "widest_m" in c else (),
        reach=robot.kinematics.reach if kind == "distance-bound" else None,
    )
    return [line for line in text.splitlines() if line]


def mm(metres: float, unit: str = " mm") -> str:
    """A length in millimetres."""
    return f"{1e3 * float(metres):.0f}{unit}"


def _items(scene: Scene, names: Sequence[str]) -> list[str]:
    """Those of the names that stand for an item."""
    known = {item.name for item in scene.items}
    known |= {b.object for b in scene.bindings if b.kind == "item"}
    return [name for name in names if name in known]


def _across(c: Certificate) -> list[float]:
    """Horizontal sides of an item as it lies, metres."""
    up = "xyz".index(c.get("vertical_axis", "z"))
    return [float(side) for axis, side in enumerate(c["item_m"]) if axis != up]
