"""What the documentation shows runs: the scene of docs/scene.md, and the Python of each page.

Blocks marked ``py`` are for reading only: those take a whole run.
"""

import builtins
import dis
import re
from pathlib import Path
from types import CodeType

import pytest

import galley
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.scene_check import check_start
from galley.domain.scene.reader import load_scene
from galley.robots.panda.models import mobile_panda

DOCS = Path(__file__).parents[2] / "docs"
WRITTEN = [*sorted(each.stem for each in DOCS.glob("*.md")), "../README"]
PAGES = (
    "planning",
    "domain",
    "collision",
    "robots",
    "motion",
    "optimization",
    "comparison",
    "reachability",
    "skills",
    "execution",
)


def blocks(page, language):
    text = (DOCS / f"{page}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def scene_examples(tmp_path):
    """The scene files of docs/scene.md: the whole one, and those that extend it."""
    context, extended, grasps, objects, rack = blocks("scene", "yaml")
    (tmp_path / "bench.yaml").write_text(context)
    (tmp_path / "bench2.yaml").write_text(extended)
    (tmp_path / "ball_grasps.yaml").write_text(grasps)
    (tmp_path / "marks.yaml").write_text(f"galley_scene: 1\nextends: bench.yaml\n{objects}")
    (tmp_path / "rack.yaml").write_text(rack)
    return tmp_path


def test_the_example_of_the_scene_format_is_a_scene_that_starts_free(scene_examples):
    scene = load_scene(scene_examples / "bench.yaml")
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        check_start(world)
    assert scene.region("table_top").boxes[0, 0, 2] == 0.75
    assert scene.item("block").X_WI[2, 3] == pytest.approx(0.80)


def test_the_example_of_a_scene_that_extends_another_starts_free_too(scene_examples):
    scene = load_scene(scene_examples / "bench2.yaml")
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        check_start(world)
    assert [item.name for item in scene.items] == ["ball"]
    assert [grasp.name for grasp in scene.item("ball").grasps] == ["down", "slanted"]
    assert scene.binding("mark").spot.yaw == 1.57
    assert scene.robot.q[:4].tolist() == [1.7, 0.3, 3.1, 0.0]


def test_the_example_of_exact_places_is_read(scene_examples):
    scene = load_scene(scene_examples / "marks.yaml")
    places = {b.object: b.spot for b in scene.bindings if b.spot is not None}
    assert {name: (*spot.xy, spot.yaw) for name, spot in places.items()} == {
        "left_mark": (0.0, -0.3, 0.0),
        "right_mark": (0.0, 0.3, None),
    }


@pytest.mark.parametrize(
    ("goal", "last"),
    [("(inside block rack)", "stow block rack h1"), ("(on block mark)", "place block mark h1")],
)
def test_a_shelf_and_a_spot_are_furniture(scene_examples, goal, last):
    (problem,) = blocks("scene", "lisp")
    assert goal in problem
    problem = problem.replace("(:goal (inside block rack)", f"(:goal {goal}")
    (scene_examples / "task.pddl").write_text(problem)
    task = galley.load(scene=scene_examples / "rack.yaml", problem=scene_examples / "task.pddl")
    solution = galley.solve(task, optimize="none")
    assert isinstance(solution, galley.Solution), str(solution)
    assert str(solution.plan[-1]) == f"({last})"
    phases = [motion.phase for motion in solution.motions]
    assert not any("open drawer" in phase for phase in phases), phases
    run = galley.execute(solution, executor="kinematic")
    assert run.verdict.passed
    assert [(fact.fact, fact.holds) for fact in run.verdict.goal_facts] == [(goal, True)]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_and_print_something(page, capsys, tmp_path, monkeypatch):
    if page == "planning":
        pytest.importorskip("pddlgym")  # not for Python 3.12 and later
    monkeypatch.chdir(tmp_path)  # some write files
    code = "".join(blocks(page, "python"))
    assert code
    exec(compile(code, f"docs/{page}.md", "exec"), {})
    assert capsys.readouterr().out


def test_the_readmes_motion_starts_as_it_says():
    (code,) = blocks("../README", "python")
    exec(compile(code, "README.md", "exec"), names := {})
    assert names["q"].shape == names["v"].shape == (7,)


def names_of(code):
    """The names that a block looks up, those that it binds, and those of them that it imports."""
    looked_up, bound, imported = set(), set(), set()
    last = None
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            looked_up.add(each.argval)
        elif each.opname in ("STORE_NAME", "STORE_GLOBAL"):
            bound.add(each.argval)
            if last in ("IMPORT_NAME", "IMPORT_FROM"):
                imported.add(each.argval)
        last = each.opname
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            looked_up |= names_of(inner)[0]
            bound |= names_of(inner)[1] if inner.co_name == "<module>" else set()
    return looked_up, bound, imported


@pytest.mark.parametrize("page", WRITTEN)
def test_each_block_imports_what_it_uses(page):
    """Only values may come from the blocks before it; excerpts of a shipped file are quotations."""
    quoted = (DOCS / "wiping" / "wipe.py").read_text()
    values = set(dir(builtins)) | {"__name__", "__annotations__"}
    for block in blocks(page, "(?:python|py)"):
        if "# wrong:" in block or block in quoted:
            continue
        looked_up, bound, imported = names_of(compile(block, page, "exec"))
        assert looked_up <= values | bound, f"{page}: {looked_up - values - bound} in\n{block}"
        values |= bound - imported
