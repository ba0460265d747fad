"""Reads the section ``objects`` of a scene file: what the objects of a PDDL problem are."""

from __future__ import annotations

import numpy as np

from galley.domain.frames import frozen
from galley.domain.scene import Binding, Handle, Item, Region, Spot, Stance
from galley.domain.yaml_reader import Entry

_ARTICLES = {"item": "an item", "hand": "a hand"}
_FURNITURE_KEYS = ("region", "handle", "opening", "staging", "at")


def read_binding(
    name: str,
    entry: Entry,
    regions: tuple[Region, ...],
    handles: tuple[Handle, ...],
    items: tuple[Item, ...],
    stances: tuple[Stance, ...],
) -> Binding:
    """What the PDDL object ``name`` is."""
    f = entry.fields((), ("item", "hand", "stance", *_FURNITURE_KEYS))
    kinds = [k for k in ("item", "hand", "stance") if k in f]
    if len(kinds) != 1:
        entry.fault("needs exactly one of item, hand, stance (a stance makes it furniture)")
        return Binding(name, "furniture", "")
    if kinds[0] != "stance":
        for key in f:
            if key != kinds[0]:
                f[key].fault(f"belongs to furniture; '{name}' is {_ARTICLES[kinds[0]]}")
    if kinds[0] == "item":
        return Binding(name, "item", f["item"].text(tuple(i.name for i in items)))
    if kinds[0] == "hand":
        return Binding(name, "hand", f["hand"].text(("panda_hand",)))
    surfaces = tuple(r.name for r in regions if r.kind == "surface")
    region = f["region"].text(tuple(r.name for r in regions)) if "region" in f else None
    handle = f["handle"].text(tuple(h.name for h in handles)) if "handle" in f else None
    if handle is not None and region is None:
        entry.fault("has a handle, so it needs a region (a volume) that opens with it")
    return Binding(
        object=name,
        kind="furniture",
        target=f["stance"].text(tuple(s.name for s in stances)),
        region=region,
        handle=handle,
        opening=f["opening"].number(positive=True) if "opening" in f else 0.3,
        staging=f["staging"].text(surfaces) if "staging" in f else None,
        spot=_spot(f["at"], region, regions) if "at" in f else None,
    )


def _spot(entry: Entry, region_name: str | None, regions: tuple[Region, ...]) -> Spot | None:
    """The exact place ``at``, which must lie within the region."""
    f = entry.fields(("xy",), ("yaw",))
    if region_name is None:
        entry.fault("is a place in a region, so a region is needed too")
    yaw = f["yaw"].number() if "yaw" in f else None
    if "xy" not in f:
        return None
    faults = len(entry.reader.errors)
    xy = f["xy"].vector(2)
    region = next((r for r in regions if r.name == region_name), None)
    if region is not None and len(entry.reader.errors) == faults:
        within = (xy >= region.boxes[:, 0, :2]) & (xy <= region.boxes[:, 1, :2])
        if not np.any(within.all(axis=1)):
            f["xy"].fault(f"[{xy[0]:g}, {xy[1]:g}] lies outside the region '{region.name}'")
    return Spot(frozen(xy), yaw)
