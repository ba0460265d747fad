"""The goal's predicates in the final geometry, compared with those of planning."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from galley.domain.frames import from_pose7, rotation_rpy, to_pose7, transform
from galley.domain.pddl.formula import And, Exists, Fact, Forall, Imply, Literal, Not, Or, Variable
from galley.domain.pddl.reader import read_task
from galley.domain.predicates import fact_holds
from galley.domain.scene.model import HAND, WORLD, Item, Shape
from galley.domain.state import Placement, State
from galley.planning import Semantics
from galley.tests.effort import examples
from galley.validation.goal import (
    FinalState,
    Goal,
    evaluate_fact,
    evaluate_goal,
    formula_holds,
    support_function,
)
from galley.validation.poses import furniture_poses

EXACT = """
  left_mark: {stance: countertop, region: hitman_top, at: {xy: [0.0, -0.3], yaw: 3.1}}
  right_mark: {stance: countertop, region: hitman_top, at: {xy: [0.1, -0.6]}}
"""


@pytest.fixture(scope="module")
def scene(kitchen_folder, scene_of):
    """The kitchen, with two exact places."""
    return scene_of(f"galley_scene: 1\nextends: {kitchen_folder / 'kitchen.yaml'}\nobjects:{EXACT}")


def final_of(scene, base, scene_q, items, held=None, still=True):
    furniture = {n: X[0] for n, X in furniture_poses(scene, scene_q[None]).items()}
    gripped = tuple(k == held for k in range(len(scene.items)))
    return FinalState(scene, base, scene_q, furniture, items, gripped, (still,) * len(scene.items))


def state_of(scene, base, scene_q, items, held):
    q = scene.robot.q.copy()
    q[:3] = base
    placements = tuple(
        Placement(HAND if k == held else WORLD, from_pose7(pose)) for k, pose in enumerate(items)
    )
    return State(q, scene_q, placements)


def near_a_place(scene, rng):
    """A pose of an item close to where some predicate changes its mind."""
    region = scene.regions[rng.integers(len(scene.regions))]
    box = region.boxes[rng.integers(len(region.boxes))]
    xy = rng.uniform(box[0, :2] - 0.06, box[1, :2] + 0.06)
    if rng.random() < 0.3:  # at one of the exact places, or just off it
        xy = np.array([(0.0, -0.3), (0.1, -0.6)][rng.integers(2)]) + rng.normal(0.0, 0.008, 2)
    half = rng.choice([0.041, 0.0875, 0.025, 0.0445])
    z = box[0, 2] + half + rng.choice([0.0, rng.normal(0.0, 0.004), rng.uniform(-0.1, 0.1)])
    tilt = rng.choice([0.0, rng.normal(0.0, 0.06)])
    yaw = rng.choice([rng.uniform(-np.pi, np.pi), 3.1, -3.1, 3.1 - 2 * np.pi])
    X = transform(rotation_rpy(tilt, 0.0, yaw), (*xy, z))
    if rng.random() < 0.3:  # on another face
        turn = Rotation.create_group("O")[rng.integers(24)].as_matrix()
        X = X @ transform(turn, np.zeros(3))
    return to_pose7(X)


@pytest.mark.parametrize("upright", [True, False])
def test_both_meanings_agree_on_every_fact(scene, upright):
    """In random states, in which every predicate about an object holds and misses.

    Items are boxes here, for which a shape and its bounding box are the same.
    """
    scene = replace(scene, items=tuple(replace(i, upright=upright) for i in scene.items))
    binding = {b.object: b for b in scene.bindings}
    facts = [Fact(p, (a,)) for p in ("near", "opened", "grasp", "empty") for a in binding]
    facts += [Fact(p, (a, b)) for p in ("on", "in", "inside") for a in binding for b in binding]
    told, lying = set(), []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        items = np.array([near_a_place(scene, rng) for _ in scene.items])
        scene_q = np.array(
            [rng.choice([0.0, rng.uniform(0.0, 0.01), j.upper]) for j in scene.joints]
        )
        base = rng.uniform((0.4, -1.7, -7.0), (2.5, 1.8, 7.0))
        held = rng.choice([None, 0, 1], p=[0.8, 0.1, 0.1])
        final = final_of(scene, base, scene_q, items, held)
        state = state_of(scene, base, scene_q, items, held)
        for fact in facts:
            bound = tuple(binding[name] for name in fact.args)
            theirs = fact_holds(scene, state, fact.predicate, bound, np.eye(4))
            mine = evaluate_fact(final, fact)
            assert (mine is None) == (theirs is None), fact
            if mine is not None:
                assert mine[0] == theirs.holds, (fact, mine, theirs)
                told.add((fact.predicate, fact.args[-1], mine[0]))
                if fact.predicate == "on" and mine[0]:
                    k = scene.item_index[binding[fact.args[0]].target]
                    lying.append(from_pose7(items[k])[2, 2] < 0.9)
    for place in ("left_mark", "right_mark", "countertop"):
        assert {("on", place, True), ("on", place, False)} <= told
    for predicate, name in (("near", "burner"), ("opened", "drawer"), ("in", "drawer")):
        assert {(predicate, name, True), (predicate, name, False)} <= told
    assert ("inside", "drawer", True) in told
    assert any(lying) != upright


def test_what_still_moves_is_neither_on_nor_inside(scene):
    items = np.array([to_pose7(item.X_WI) for item in scene.items])
    scene_q = np.zeros(len(scene.joints))
    moving = final_of(scene, scene.robot.q[:3], scene_q, items, still=False)
    holds, why = evaluate_fact(moving, Fact("on", ("sugar", "burner")))
    assert not holds
    assert why == "sugar_box still moves"
    assert evaluate_fact(
        final_of(scene, scene.robot.q[:3], scene_q, items), Fact("on", ("sugar", "burner"))
    )[0]


def shaped(shape, X_BS):
    kind, size = shape
    return Shape(kind, np.array(size), X_BS, (0.5, 0.5, 0.5, 1.0))


@pytest.mark.parametrize(
    "shape", [("box", (0.1, 0.2, 0.3)), ("cylinder", (0.1, 0.4)), ("sphere", (0.2,))]
)
def test_extents_are_those_of_points_on_the_surface(shape):
    """Against the farthest of many points of the shape."""
    rng = np.random.default_rng(3)
    kind, size = shape
    points = rng.uniform(-1.0, 1.0, (200000, 3))
    if kind == "box":
        points *= np.array(size) / 2.0
    elif kind == "sphere":
        points = points / np.linalg.norm(points, axis=1)[:, None] * size[0]
    else:
        angle = points[:, 0] * np.pi
        points = np.stack(
            [size[0] * np.cos(angle), size[0] * np.sin(angle), points[:, 2] * size[1] / 2.0], axis=1
        )
    for _ in range(5):
        X = transform(Rotation.random(random_state=rng).as_matrix(), rng.uniform(-0.3, 0.3, 3))
        item = Item("x", "x", np.ones(3), (shaped(shape, X),), 1.0, 1.0, 0.0, np.eye(4), ())
        d = rng.normal(size=3)
        d /= np.linalg.norm(d)
        farthest = float(((points @ X[:3, :3].T + X[:3, 3]) @ d).max())
        assert support_function(item, d) == pytest.approx(farthest, abs=5e-3)
        assert support_function(item, d) >= farthest - 1e-12


def test_a_mesh_reaches_to_its_vertices():
    points = 0.5 * np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    shape = Shape("mesh", np.array([0.5]), np.eye(4), (1, 1, 1, 1), points=points)
    item = Item("m", "m", np.ones(3), (shape,), 1.0, 1.0, 0.0, np.eye(4), ())
    assert [support_function(item, d) for d in np.eye(3)] == [0.5, 1.0, 1.5]
    assert support_function(item, np.array([0.0, 0.0, -1.0])) == 0.0


# -- formulas -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def task(kitchen_folder):
    return read_task(kitchen_folder / "drawers.pddl", kitchen_folder / "put_away.pddl")


def formulas(objects, predicates):
    terms = [*objects, "?x", "?y"]
    literal = st.builds(
        lambda p, args, positive: Literal(p, tuple(args[: predicates[p]]), positive),
        st.sampled_from(sorted(predicates)),
        st.lists(st.sampled_from(terms), min_size=2, max_size=2),
        st.booleans(),
    )
    variables = st.lists(
        st.builds(
            Variable,
            st.sampled_from(["?x", "?y"]),
            st.sampled_from([("object",), ("furniture",), ("surface",), ("stove", "drawer")]),
        ),
        min_size=1,
        max_size=2,
        unique_by=lambda v: v.name,
    ).map(tuple)

    def grow(inner):
        several = st.lists(inner, max_size=3).map(tuple)
        return st.one_of(
            st.builds(And, several),
            st.builds(Or, several),
            st.builds(Not, inner),
            st.builds(Imply, inner, inner),
            st.builds(Exists, variables, inner),
            st.builds(Forall, variables, inner),
        )

    tree = st.recursive(literal, grow, max_leaves=6)
    closing = (Variable("?x", ("object",)), Variable("?y", ("object",)))
    return tree.map(lambda part: Exists(closing, part))


@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_formulas_are_true_where_the_planners_semantics_say_so(task, data):
    domain, problem = task
    objects = [thing.name for thing in problem.objects]
    predicates = {"on": 2, "near": 1, "=": 2, "cooked": 1}
    formula = data.draw(formulas(objects, predicates))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    facts = frozenset(
        Fact(p, tuple(rng.choice(objects, n).tolist()))
        for p, n in predicates.items()
        for _ in range(12)
        if p != "="
    )
    mine = formula_holds(Goal(domain, problem), formula, {}, facts.__contains__)
    assert mine == Semantics(domain, problem).holds(formula, {}, facts)


def test_symbols_decide_what_has_no_geometry_and_it_is_said_so(scene, kitchen_folder, goal_of):
    domain, problem = read_task(kitchen_folder / "kitchen.pddl", kitchen_folder / "task.pddl")
    items = np.array([to_pose7(item.X_WI) for item in scene.items])
    final = final_of(scene, scene.robot.q[:3], np.zeros(len(scene.joints)), items)
    text = "(and (empty h1) (on sugar burner) (not (near burner)))"
    asked = replace(problem, goal=goal_of(domain, problem, text))
    with_symbols = evaluate_goal(Goal(domain, asked, frozenset({Fact("empty", ("h1",))})), final)
    assert [part.holds for part in with_symbols] == [True, True, True]
    assert "no geometric meaning" in with_symbols[0].why
    assert "0.0 mm above burners" in with_symbols[1].why
    without = evaluate_goal(Goal(domain, asked), final)
    assert [part.holds for part in without] == [False, True, True]
