"""Pairs of links not worth checking: neighbours, and pairs that overlap wherever the arm is.

As MoveIt's setup assistant does it, but only for pairs that *touch*: a pair that no sample sees
touching stays checked.
"""

from __future__ import annotations

import itertools

import numpy as np

from galley.domain.frames import Array, inverse
from galley.robots.hull import Hull, hull
from galley.robots.link_shapes import LinkShape, link_shapes
from galley.robots.model import JointGroup
from galley.robots.tree import Tree, read_tree

SAMPLES = 200
ALWAYS = 0.95
"""Fraction of the sampled configurations in which a pair that is let off overlaps."""


def neighbours_and_always_touching(urdf: str, group: JointGroup) -> frozenset[tuple[str, str]]:
    """Pairs of links (first < second) that need no check, out of those with a collision shape.

    Neighbours are links on one frame (joined by fixed joints) and on frames one joint apart. Two
    other links are let off where points of one were inside the other in at least ``ALWAYS`` of
    ``SAMPLES`` random configurations: they overlap by construction.
    """
    tree = read_tree(urdf, group.joints)
    shapes: dict[str, list[tuple[Hull, Array]]] = {}
    for shape in link_shapes(urdf):
        shapes.setdefault(shape.link, []).append((hull_of(shape), shape.X_LS))
    frame = {link: tree.link(link)[0] for link in shapes}
    found = {
        (min(a, b), max(a, b))
        for a, b in itertools.combinations(shapes, 2)
        if _adjacent(tree, frame[a], frame[b])
    }
    open_pairs = [p for p in itertools.combinations(sorted(shapes), 2) if p not in found]
    misses = dict.fromkeys(open_pairs, 0)
    rng = np.random.default_rng(0)
    for q in rng.uniform(group.lower, group.upper, (SAMPLES, group.size)):
        poses = tree.poses(q)
        X_WL = {link: poses[frame[link]] @ tree.link(link)[1] for link in shapes}
        for a, b in open_pairs:
            misses[a, b] += not any(
                _overlap(A, X_WL[a] @ X_A, B, X_WL[b] @ X_B)
                for A, X_A in shapes[a]
                for B, X_B in shapes[b]
            )
        open_pairs = [p for p in open_pairs if misses[p] <= (1.0 - ALWAYS) * SAMPLES]
    return frozenset(found | set(open_pairs))


def hull_of(shape: LinkShape) -> Hull:
    """A shape's convex hull in its own frame; round ones as polyhedra inside them."""
    if shape.hull is not None:
        return shape.hull
    if shape.kind == "box":
        signs = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
        return hull(signs * shape.size)
    angle = np.arange(24) * (2.0 * np.pi / 24)
    ring = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    if shape.kind == "cylinder":
        radius, length = shape.size
        ends = [radius * ring + [0.0, 0.0, z] for z in (-0.5 * length, 0.5 * length)]
        return hull(np.vstack(ends))
    height = np.linspace(-1.0, 1.0, 13)
    rings = [np.sqrt(1.0 - z * z) * ring + [0.0, 0.0, z] for z in height[1:-1]]
    return hull(shape.size[0] * np.vstack([*rings, [[0, 0, -1], [0, 0, 1]]]))


def _adjacent(tree: Tree, i: int, j: int) -> bool:
    """Whether two frames are the same, or one joint apart."""
    if i == j:
        return True
    return (i > 0 and tree.parent[i - 1] == j) or (j > 0 and tree.parent[j - 1] == i)


def _overlap(A: Hull, X_WA: Array, B: Hull, X_WB: Array) -> bool:
    """Whether a corner of one hull, or a point halfway to its middle, is inside the other."""
    apart = np.linalg.norm((X_WA - X_WB)[:3, 3] + X_WA[:3, :3] @ A.centre - X_WB[:3, :3] @ B.centre)
    if apart > _reach(A) + _reach(B):
        return False
    return _enters(A, inverse(X_WB) @ X_WA, B) or _enters(B, inverse(X_WA) @ X_WB, A)


def _enters(A: Hull, X_BA: Array, B: Hull) -> bool:
    points = np.vstack([A.vertices, 0.5 * (A.vertices + A.centre), A.centre])
    return bool((B.distance(points @ X_BA[:3, :3].T + X_BA[:3, 3]) < 0.0).any())


def _reach(body: Hull) -> float:
    """Largest distance of a corner from the hull's middle, m."""
    return float(np.linalg.norm(body.vertices - body.centre, axis=1).max())
