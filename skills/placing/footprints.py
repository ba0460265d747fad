"""Footprints: outlines of items seen from above, and the gaps between them.

Everything is in two dimensions, in the frame B of a region's body (z up), in metres.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from galley.domain.frames import Array, frozen, inverse
from galley.domain.predicates import corners
from galley.domain.scene.model import Item, Region, Scene, Shape
from galley.domain.state import State, item_pose

SIDES = 12  # sides of the polygon about a circle
_SIDES_WITHIN = 24  # sides of the polygon within a circle, for proofs
_NEAR_FLOOR = 0.01  # m, an item with its underside this near to a box's floor stands on it
_LOW = 0.002  # m, furniture that rises less than this above a floor is part of it
_GRID = 1e-6  # m, corners of an outline nearer than this are one
_VERTICAL = 1e-6  # tolerance of a vertical direction


@dataclass(frozen=True)
class Layer:
    """A part of an item that fills a convex polygon at every height from ``low`` to ``high``.

    Attributes:
        low: lower end, metres above the floor on which the item stands.
        high: upper end, likewise.
        polygon: corners (n, 2), counter-clockwise, within the item.
    """

    low: float
    high: float
    polygon: Array


@dataclass(frozen=True)
class Upright:
    """An upright item in a frame at its own centre, to be placed.

    Attributes:
        size: sides of its bounding box (3,).
        outline: convex polygon (n, 2), counter-clockwise, that contains its footprint.
        layers: layers that it surely fills, for proofs.
        rim: convex polygon (n, 2), counter-clockwise, that must lie in a region: its bounding
            rectangle; for a composite item the hull of its layers, within ``outline``.
        composite: whether the item has several shapes.
    """

    size: Array
    outline: Array
    layers: tuple[Layer, ...]
    rim: Array
    composite: bool = False

    @classmethod
    def of(cls, item: Item) -> Upright:
        """The footprint of an item that stands upright, about its own centre."""
        X = np.eye(4)
        X[2, 3] = item.size[2] / 2.0
        layers = _layers(item, X)
        rim = item.size[:2] / 2.0 * [[1, 1], [-1, 1], [-1, -1], [1, -1]]
        if item.composite:
            points = [layer.polygon for layer in layers] or [circle(1e-6, False)]
            rim = convex_hull(np.concatenate(points))
        return cls(item.size, outline_of(item, X), layers, rim, item.composite)


@dataclass(frozen=True)
class Footprint:
    """The footprint of an item that stands in a region.

    Attributes:
        outline: convex polygon (n, 2), counter-clockwise, in the frame of the region's body.
        name: name of the item, for messages.
        layers: layers that it surely fills, for proofs.
    """

    outline: Array
    name: str = ""
    layers: tuple[Layer, ...] = ()

    @classmethod
    def from_item(cls, scene: Scene, state: State, index: int, region: Region) -> Footprint | None:
        """The footprint of item ``index``; None if it is held, or not on or in the region.

        It is in the region if its outline overlaps one of the region's boxes and its underside is
        within 10 mm of that box's floor.
        """
        if index in state.in_hands:
            return None
        item = scene.items[index]
        X_WB = scene.body_pose(region.body, state.scene_q)
        X_BI = inverse(X_WB) @ item_pose(scene, state, index, np.eye(4))
        bottom = float((corners(item) @ X_BI[2, :3]).min() + X_BI[2, 3])
        outline: Array | None = None
        for lower, upper in region.boxes:
            if abs(bottom - float(lower[2])) > _NEAR_FLOOR:
                continue
            outline = outline_of(item, X_BI) if outline is None else outline
            low, high = outline.min(axis=0), outline.max(axis=0)
            if (low < upper[:2]).all() and (high > lower[:2]).all():
                X_BI = X_BI.copy()
                X_BI[2, 3] -= lower[2]
                return cls(outline, item.name, _layers(item, X_BI))
        return None


def furniture_on(
    scene: Scene, scene_q: Array, region: Region, height: float
) -> tuple[Footprint, ...]:
    """Footprints of the furniture that leaves no room in a region for an item of a height (m).

    These are all solid shapes over a box of the region between its floor and that height. In a
    drawer only those that move with it count: the others are not above it when it is open.
    """
    return _furniture_on(scene, scene_q.tobytes(), region, height)


@lru_cache(maxsize=256)
def _furniture_on(
    scene: Scene, scene_q: bytes, region: Region, height: float
) -> tuple[Footprint, ...]:
    """``furniture_on``, with the scene joints as bytes, so that it can be cached."""
    own = moving_with(scene, region.body) if scene.carried(region.body) else None
    prints: list[Footprint] = []
    for body, shape, X_BS, (low, high) in solid_furniture(scene, scene_q, region.body):
        if own is not None and body not in own:
            continue
        for lower, upper in region.boxes:
            over = (low[:2] < upper[:2]).all() and (high[:2] > lower[:2]).all()
            floor = float(lower[2])
            if over and high[2] > floor + _LOW and low[2] < floor + height - _LOW:
                X_S = X_BS @ shape.X_BS
                if shape.kind == "sphere":  # by its bounding square
                    points = np.array(
                        [[x, y] for x in (low[0], high[0]) for y in (low[1], high[1])]
                    )
                else:
                    points = (_solid(shape, True) @ X_S[:3, :3].T + X_S[:3, 3])[:, :2]
                outline = convex_hull(points)
                # Proofs add up areas, so shapes that overlap others have no layers.
                alone = all(gaps(outline[None], f.outline[None])[0, 0] >= 0.0 for f in prints)
                layers = _layers_of(shape, X_S, floor) if alone else ()
                prints.append(Footprint(frozen(outline), body, layers))
                break
    return tuple(prints)


@lru_cache(maxsize=64)
def solid_furniture(
    scene: Scene, scene_q: bytes, within: str
) -> tuple[tuple[str, Shape, Array, tuple[Array, Array]], ...]:
    """Each solid shape of the furniture except meshes: body's name, shape, X_BS (4, 4), box.

    X_BS is the pose of the shape's body S in the frame of the body ``within``, B, where the box has
    its lowest and highest corner (3,). ``scene_q`` are the bytes of the scene's joints.
    """
    joints = np.frombuffer(scene_q)
    X_BW = inverse(scene.body_pose(within, joints))
    shapes = []
    for body in scene.bodies:
        X_BS = frozen(X_BW @ scene.body_pose(body.name, joints))
        for shape in body.shapes:
            if shape.collision and shape.kind != "mesh":
                shapes.append((body.name, shape, X_BS, shape.bounds(X_BS)))
    return tuple(shapes)


def moving_with(scene: Scene, body: str) -> frozenset[str]:
    """The bodies that move with a body's nearest joint; the body alone if it has no joint."""
    joints = (scene.body(name).joint for name in scene.chain(body))
    joint = next((name for name in joints if name is not None), None)
    return frozenset((body,) if joint is None else scene.moved_by(joint))


def placed(outline: Array, poses: Array) -> Array:
    """The corners (m, n, 2) of an outline (n, 2) at poses x, y, yaw (m, 3 or more)."""
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    x, y = outline[:, 0], outline[:, 1]
    outlines = np.empty((len(poses), len(outline), 2))
    outlines[:, :, 0] = c[:, None] * x - s[:, None] * y + poses[:, :1]
    outlines[:, :, 1] = s[:, None] * x + c[:, None] * y + poses[:, 1:2]
    return outlines


def gaps(polygons: Array, others: Array) -> Array:
    """Lower bounds (m, k) on the distance from each polygon (m, n, 2) to each other (k, v, 2).

    The bound is the largest gap along an edge normal of either polygon. It is exact if an edge is
    nearest, and smaller if two corners are. It is negative exactly if the polygons overlap
    (separating axis theorem). Padded rows repeat their last corner.
    """
    away = _along_normals(others, polygons).T
    return np.maximum(_along_normals(polygons, others), away)


def padded(polygons: list[Array]) -> Array:
    """Polygons as one array (k, v, 2), each padded by repeating its last corner."""
    if not polygons:
        return np.empty((0, 1, 2))
    most = max(len(polygon) for polygon in polygons)
    return np.array([np.concatenate([p, np.repeat(p[-1:], most - len(p), 0)]) for p in polygons])


def convex_hull(points: Array) -> Array:
    """Corners (n, 2) of the convex hull of points (m, 2), counter-clockwise from the leftmost."""
    import shapely

    polygon = shapely.MultiPoint(np.round(points, 9)).convex_hull
    ring = polygon.normalize().exterior.coords  # clockwise from the leftmost, which ends it, too
    return frozen(ring[:0:-1])


def area(polygon: Array) -> float:
    """Area (m^2) of a simple polygon (n, 2), counter-clockwise."""
    x, y = polygon[:, 0], polygon[:, 1]
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _along_normals(a: Array, b: Array) -> Array:
    """The largest gap (m, k) from polygons a (m, n, 2) to b (k, v, 2) along the normals of a."""
    edges = np.roll(a, -1, axis=1) - a
    lengths = np.hypot(edges[..., 0], edges[..., 1])
    flat = lengths < 1e-9  # of a repeated corner
    lengths = np.where(flat, 1.0, lengths)
    nx, ny = edges[..., 1] / lengths, -edges[..., 0] / lengths
    own = nx * a[..., 0] + ny * a[..., 1]  # (m, n)
    m, n = own.shape
    corners_b = b.reshape(-1, 2)
    reach = np.stack([nx.ravel(), ny.ravel()], axis=1) @ corners_b.T
    nearest = reach.reshape(m, n, b.shape[0], b.shape[1]).min(axis=3)
    nearest -= np.where(flat, np.inf, own)[:, :, None]
    return np.asarray(nearest.max(axis=1))


def circle(radius: float, outside: bool) -> Array:
    """A polygon (n, 2) about a circle, or within it with more sides; some face +-x and +-y."""
    sides = SIDES if outside else _SIDES_WITHIN
    turn = np.pi / sides
    angle = turn + 2.0 * turn * np.arange(sides)
    radius = radius / np.cos(turn) if outside else radius
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _solid(shape: Shape, outside: bool) -> Array:
    """Corners (n, 3) of a box, or of a prism about or within a cylinder, in the shape's frame."""
    if shape.kind == "box":
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
        return signs * shape.half_extents
    ring = circle(float(shape.size[0]), outside)
    half = float(shape.size[1]) / 2.0
    return np.concatenate([np.column_stack([ring, np.full(len(ring), z)]) for z in (-half, half)])


def outline_of(item: Item, X: Array) -> Array:
    """The convex outline (n, 2) of an item's solid shapes, with its frame at X (4, 4)."""
    points = [_seen_from_above(shape, X) for shape in item.solid]
    if not item.solid:
        points.append((corners(item) @ X[:3, :3].T + X[:3, 3])[:, :2])
    outline = convex_hull(np.concatenate(points))
    meshes = any(shape.kind == "mesh" for shape in item.solid)
    return _around(outline) if meshes and len(outline) > SIDES else outline


def _around(outline: Array) -> Array:
    """A polygon (SIDES, 2) around a convex one, each side touching it."""
    angles = np.arange(SIDES) * (2.0 * np.pi / SIDES)
    u = np.column_stack([np.cos(angles), np.sin(angles)])  # outward normals of the sides
    reach, v = (outline @ u.T).max(axis=0), np.roll(u, -1, axis=0)
    sides = np.stack([u, v], axis=1)  # that meet in a corner
    rim: Array = np.linalg.solve(sides, np.stack([reach, np.roll(reach, -1)], axis=1)[..., None])
    return convex_hull(rim[..., 0])


def outline_above(item: Item, X: Array, height: float) -> Array:
    """The outline (n, 2) of the shapes of an item at X (4, 4) that rise above a height (m).

    It need not be convex. Shapes that don't touch get their common convex outline.
    """
    import shapely

    parts = [
        shapely.MultiPoint(_seen_from_above(shape, X)).convex_hull
        for shape in item.solid
        if shape.bounds(X)[1][2] > height
    ]
    union = shapely.union_all(parts, grid_size=_GRID).simplify(_GRID)
    union = union if union.geom_type == "Polygon" else union.convex_hull
    return np.array(union.exterior.coords)[:-1]


def _seen_from_above(shape: Shape, X: Array) -> Array:
    """Points (n, 2) whose hull is the outline of a shape whose item is at X (4, 4)."""
    X_S = X @ shape.X_BS
    if shape.kind == "sphere":
        return np.asarray(X_S[:2, 3] + circle(float(shape.size[0]), True))
    points = shape.points if shape.points is not None else _solid(shape, True)
    return np.asarray((points @ X_S[:3, :3].T + X_S[:3, 3])[:, :2])


def _layers(item: Item, X: Array) -> tuple[Layer, ...]:
    """The layers of an item at X (4, 4): one for each box and cylinder with a vertical axis."""
    return tuple(layer for shape in item.solid for layer in _layers_of(shape, X @ shape.X_BS, 0.0))


def _layers_of(shape: Shape, X_S: Array, floor: float) -> tuple[Layer, ...]:
    """The layer that a shape at X_S (4, 4) surely fills, with heights above ``floor``; or none."""
    if shape.kind not in ("box", "cylinder"):
        return ()
    up = np.abs(X_S[2, :3])  # of the shape's axes
    if up[2] > 1.0 - _VERTICAL or (shape.kind == "box" and up.max() > 1.0 - _VERTICAL):
        p = _solid(shape, False) @ X_S[:3, :3].T + X_S[:3, 3]
        low, high = float(p[:, 2].min()) - floor, float(p[:, 2].max()) - floor
        return (Layer(low, high, convex_hull(p[:, :2])),)
    return ()
