"""Explains a failure on the page: its certificate in words, and the objects in the way."""

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
    """A certificate in words.

    Attributes:
        sentences: what the certificate proves.
        blockers: names of the bodies and items that are marked in the picture of the scene.
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
    """Explain a failure by its certificate; without one, by the mishaps that the run had.

    Args:
        failure: from the report.
        scene, robot: of the run; they name bodies and items, and the arm's reach.
        recoveries: from the report.

    Raises:
        LookupError, TypeError, ValueError, ArithmeticError, AttributeError, jinja2.TemplateError:
            the certificate lacks what its kind needs.
    """
    certificate = failure.get("certificate")
    if not isinstance(certificate, dict):
        sentences = ["Nothing is proven: a limit was reached before a solution or a proof."]
        if recoveries:
            rows = [list(row) for _, row in groupby(recoveries, key=mishap)]
            sentences = ["The run recovered from these mishaps until it gave up."]
            sentences += map(in_sentence, rows)
        return Explanation(sentences)
    kind = str(certificate.get("kind") or certificate.get("reason") or "")
    names = [*map(str, failure.get("objects", [])), "the room"]
    blockers: list[Any] = []
    if failure.get("kind") == "blocked" or "blocker" in certificate:
        blockers = [*failure.get("objects", []), certificate.get("blocker")]
    known = {body.name for body in scene.bodies} | scene.item_index.keys()
    item_names = {b.object for b in scene.bindings if b.kind == "item"} | scene.item_index.keys()
    items = [name for name in names if name in item_names]
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
    """The jinja environment of the page's templates, with these filters by name."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("galley.results.page", ""),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment


def mm(metres: float, unit: str = " mm") -> str:
    """A length (m) as text in whole millimetres."""
    return f"{1e3 * float(metres):.0f}{unit}"


def _across(c: Mapping[str, Any]) -> list[float]:
    """The two horizontal sides of an item's box in the pose of the certificate, metres."""
    up = "xyz".index(c.get("vertical_axis", "z"))
    return [float(side) for axis, side in enumerate(c["item_m"]) if axis != up]
