"""Room seen before anything moves, held against placing the things everywhere on a fine grid."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from galley.domain.frames import frozen
from galley.domain.pddl.formula import Literal
from galley.domain.scene.model import Spot
from galley.tamp.feedback.constraints import constrained_task
from galley.tamp.infeasibility.feasibility import Occupancy
from galley.tests.tamp.tasks import plan_of, scenario_task

FINGERS = 0.006  # m, a gap that packing must find; one below is not looked at


class Judge:
    """A scenario whose region ``place`` is given other sides, and its occupancy."""

    def __init__(self, name, place, lower, upper, problem=None):
        task = scenario_task(name, problem)
        scene = task.scene
        region = scene.region(scene.binding(place).region)
        boxes = np.array(region.boxes)
        boxes[0, :, :2] = lower, upper
        changed = replace(region, boxes=frozen(boxes[:1]))
        regions = tuple(changed if each.name == region.name else each for each in scene.regions)
        self.scene = replace(scene, regions=regions)
        self.seen = constrained_task(replace(task, scene=self.scene), ())
        self.bindings, self.start = self.seen.bindings, self.seen.start
        self.lower, self.upper = np.array(lower), np.array(upper)

    def constraints(self, *texts, seed=0):
        plan = plan_of(self.seen, *(f"{text} h1" for text in texts))
        return Occupancy(self.seen, self.start, seed).constraints(plan)

    def as_found(self, name):
        """Rectangle (4, 2) of an item."""
        item = self.scene.item(name)
        X = self.start.items[self.scene.item_index[name]].X_PI
        return rectangle(item.size, X[0, 3], X[1, 3], np.arctan2(X[1, 0], X[0, 0]))


def rectangle(size, x, y, yaw):
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * np.asarray(size[:2]) / 2
    c, s = np.cos(yaw), np.sin(yaw)
    return corners @ np.array([[c, s], [-s, c]]) + [x, y]


def spots(size, lower, upper, step=0.004, turns=12):
    """All rectangles (n, 4, 2) of that size within the sides, on a grid."""
    found = []
    for yaw in np.arange(turns) * np.pi / turns:
        corners = rectangle(size, 0.0, 0.0, yaw)
        low, high = lower - corners.min(axis=0), upper - corners.max(axis=0)
        if (low > high + 1e-9).any():
            continue
        axes = (
            np.linspace(a, b, int(max(b - a, 0.0) / step) + 2)
            for a, b in zip(low, high, strict=True)
        )
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 1, 2)
        found.append(corners + grid)
    return np.concatenate(found) if found else np.empty((0, 4, 2))


def apart(many, one):
    """How far (n,) rectangles are from one along the best of their sides' directions; < 0: hit."""
    best = np.full(len(many), -np.inf)
    for sides in (many, np.repeat(one[None], len(many), axis=0)):
        for k in (0, 1):
            normal = sides[:, k + 1] - sides[:, k]
            normal = normal / np.linalg.norm(normal, axis=1, keepdims=True)
            a = np.einsum("nij,nj->ni", many, normal)
            b = np.einsum("ij,nj->ni", one, normal)
            gap = np.maximum(b.min(axis=1) - a.max(axis=1), a.min(axis=1) - b.max(axis=1))
            best = np.maximum(best, gap)
    return best


def widest(judge, sizes, fixed=()):
    """The widest gap (m) with which one or two things can stand there; -inf: they can't."""
    placed = [
        spots(size, judge.lower, judge.upper, *(0.008, 8)[: 2 * (len(sizes) - 1)]) for size in sizes
    ]
    if any(not len(each) for each in placed):
        return -np.inf
    gaps = []
    for each in placed:
        clear = [apart(each, one) for one in fixed]
        gaps.append(np.min(clear, axis=0) if clear else np.full(len(each), np.inf))
    if len(placed) == 1:
        return gaps[0].max()
    best = -np.inf
    for one, gap in zip(placed[0], gaps[0], strict=True):
        best = max(best, np.minimum(np.minimum(apart(placed[1], one), gaps[1]), gap).max())
    return best


BOTH = ("pick spam mat", "place spam burner", "pick sugar burner", "place sugar mat")
PAIR = (*BOTH, "pick spam burner", "place spam mat")
SIDES = [
    (0.17, 0.14),
    (0.13, 0.11),
    (0.12, 0.11),
    (0.16, 0.11),
    (0.12, 0.08),
    (0.10, 0.08),
    (0.11, 0.05),
]


def centred(w, h):
    return (0.115 - w / 2, -0.295 - h / 2), (0.115 + w / 2, -0.295 + h / 2)


@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_two_things_in_one_place(sides):
    judge = Judge("occupied", "mat", *centred(*sides), problem="occupied_goal")
    sizes = [judge.scene.item(name).size for name in ("sugar_box", "potted_meat_can")]
    gap, told = widest(judge, sizes), judge.constraints(*PAIR)
    assert not 0.0 < gap < FINGERS, "a case that is clear"
    if gap > 0.0:
        assert told is None
        return
    assert {str(each.fact) for each in told} == {
        "(too-small mat sugar spam)",
        "(too-small mat spam sugar)",
    }
    assert told[0].failure.kind.value == "does-not-fit"


def test_that_two_do_not_fit_together_is_proven_where_it_is_clear():
    judge = Judge("occupied", "mat", *centred(0.10, 0.06), problem="occupied_goal")
    told = judge.constraints(*PAIR)
    assert told
    for lesson in told:
        assert lesson.proven
        assert lesson.failure.certificate["kind"] == "packing"


@pytest.mark.parametrize(
    "sides", [(0.13, 0.13), (0.16, 0.13), (0.16, 0.20), (0.25, 0.13), (0.25, 0.25)], ids=str
)
def test_what_stands_there_as_found_must_go_first(sides):
    judge = Judge("occupied", "mat", *centred(*sides), problem="occupied_goal")
    size = judge.scene.item("sugar_box").size
    gap = widest(judge, [size], [judge.as_found("potted_meat_can")])
    assert not 0.0 < gap < FINGERS, "a case that is clear"
    told = judge.constraints("pick sugar burner", "place sugar mat")
    if gap > 0.0:
        assert told is None
    else:
        assert [str(each.fact) for each in told] == ["(no-room sugar mat spam)"]
        assert not told[0].proven, "outlines in the plane; a search came to it"
    assert judge.constraints(*BOTH) is None, "with the spam gone there is room"


def test_a_plan_that_takes_the_thing_away_too_late_is_told_so():
    judge = Judge("occupied", "mat", *centred(0.13, 0.13), problem="occupied_goal")
    told = judge.constraints(
        "pick sugar burner", "place sugar mat", "pick spam mat", "place spam burner"
    )
    assert [str(each.fact) for each in told] == ["(no-room sugar mat spam)"]


def test_what_the_plan_took_away_again_needs_no_room():
    judge = Judge("occupied", "mat", *centred(0.10, 0.08), problem="occupied_goal")
    swap = (*BOTH, "pick sugar mat", "place sugar burner", "pick spam burner", "place spam mat")
    assert judge.constraints(*PAIR) is not None
    assert judge.constraints(*swap) is None
    in_hand = (*BOTH, "pick sugar mat", "place spam mat")
    assert judge.constraints(*in_hand) is None


@pytest.mark.parametrize(
    ("low", "high", "count"),
    [(-0.60, -0.38, 0), (-0.52, -0.44, 1), (-0.58, -0.485, 1), (-0.545, -0.485, 2)],
)
def test_no_more_must_go_than_needed(low, high, count):
    """Three boxes in a row; the first, taken up, is put back among what is left."""
    judge = Judge("hemmed_in", "countertop", (0.09, low), (0.17, high))
    size = judge.scene.item("green_tea").size
    names = {"gelatin": "gelatin_box", "black": "black_tea"}

    def room(gone):
        fixed = [judge.as_found(item) for name, item in names.items() if name not in gone]
        return widest(judge, [size], fixed)

    gaps = {gone: room(gone) for n in range(3) for gone in itertools.combinations(names, n)}
    assert not any(0.0 < gap < FINGERS for gap in gaps.values()), "a case that is clear"
    told = judge.constraints("pick green countertop", "place green countertop") or ()
    gone = tuple(name for name in names if any(name in each.fact.args for each in told))
    assert len(told) == len(gone) == count
    assert gaps[gone] > 0.0
    assert all(gap < 0.0 for some, gap in gaps.items() if len(some) < count)


def exactly(apart, hide=()):
    """Two exact places ``apart`` (m), the spam standing on the first; things may lack a name."""
    task = scenario_task("swap_poses", "swap")
    red = task.bindings["red"]
    spots = [Spot(red.spot.xy + np.array([x, 0.0]), None) for x in (0.0, apart)]
    places = {
        name: replace(red, object=name, spot=spot)
        for name, spot in zip(("red", "blue"), spots, strict=True)
    }
    bindings = {k: v for k, v in {**task.bindings, **places}.items() if k not in hide}
    seen = constrained_task(replace(task, bindings=bindings), ())
    return seen, Occupancy(seen, seen.start, 0)


@pytest.mark.parametrize(("apart", "proven"), [(0.0, True), (0.023, True), (0.025, False)])
def test_two_exact_places_that_are_too_near_for_both_things(apart, proven):
    """By hand: half sides 19 and 25 mm fill 44 mm, each centre may be 10 mm off its place."""
    found = exactly(apart)[1].goal_conflict(
        [Literal("on", ("sugar", "red")), Literal("on", ("spam", "blue"))]
    )
    assert (found is not None) == proven
    if proven:
        assert found.certificate["inner_radii_m"] == pytest.approx([0.019, 0.025])
        assert found.objects == ("sugar", "spam", "red", "blue")


@pytest.mark.parametrize(("apart", "proven"), [(0.0, True), (0.04, False)])
def test_what_nothing_can_move_from_an_exact_place(apart, proven):
    """The spam has no name: it is 97 mm long, and the sugar fills 19 mm about its place."""
    seen, occupancy = exactly(0.05 + apart, hide=["spam"])
    told = occupancy.constraints(plan_of(seen, "pick sugar red h1", "place sugar blue h1")) or []
    assert any(each.proven and "potted_meat_can" in each.failure.objects for each in told) == proven
