"""The judge shares no code with those it judges."""

import ast
from pathlib import Path

import galley
from galley.tests.command_line import python

ROOT = Path(galley.__file__).parent
ALLOWED = ("galley.domain", "galley.compiled", "galley.robots", "galley.validation")
ALONE = {
    "galley",
    *("galley.collision", "galley.collision.backends", "galley.collision.backends.bullet"),
}
# Kinematics of the robots that planning uses: poses come from PyBullet here.
NEVER = tuple(
    f"galley.robots.{name}" for name in ("panda.mobile", "spheres", "collision_model", "urdf_")
)


def module_file(name):
    path = ROOT.joinpath(*name.split(".")[1:])
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def executed(node):
    """A syntax tree's nodes, without what stands under ``if TYPE_CHECKING``."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield from executed(child)


def imported_by(name):
    """Galley's modules that a module imports, late imports included, type checking's not."""
    found = set()
    for node in executed(ast.parse(module_file(name).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {node.module} | {each for each in inner if module_file(each)}
    return {each for each in found if each.split(".")[0] == "galley"}


def closure(names):
    """All of them, and everything that they import in turn, with the packages around each."""
    done, left = set(), set(names)
    while left:
        name = left.pop()
        if name in done or module_file(name) is None:
            continue
        done.add(name)
        left |= imported_by(name)
        parts = name.split(".")
        left |= {".".join(parts[:k]) for k in range(1, len(parts))}
    return done


def ours():
    files = (ROOT / "validation").rglob("*.py")
    parts = [file.relative_to(ROOT).with_suffix("").parts for file in files]
    return {".".join(("galley", *names)) for names in parts if names[-1] != "__init__"}


def test_everything_that_validation_can_reach_is_data_or_its_own():
    reached = closure(ours() | {"galley.validation"})
    assert "galley.validation.judge" in reached
    strange = {n for n in reached if n not in ALONE and not n.startswith(ALLOWED)}
    assert not strange
    assert not {name for name in reached if name.startswith(NEVER)}
    assert not reached & {"galley.domain.predicates", "galley.domain.state"}


def test_the_closure_sees_through_modules():
    """What the test above rules out is really seen where it is: in the engine."""
    reached = closure({"galley.engine"})
    assert {
        "galley.collision.backends.urdf",
        "galley.robots.panda.mobile",
        "galley.domain.state",
    } <= reached


def test_judging_a_run_loads_nothing_of_planning(run_folder, kitchen_folder):
    code = f"""
import sys
from pathlib import Path
from galley.domain.log import Log
from galley.domain.pddl.reader import read_task
from galley.domain.scene.reader import load_scene
from galley.validation import Goal, validate_run
kitchen = Path({str(kitchen_folder)!r})
log = Log.load(Path({str(run_folder / "states.npz")!r}))
goal = Goal(*read_task(kitchen / "kitchen.pddl", kitchen / "task.pddl"))
print(validate_run(load_scene(kitchen / "kitchen.yaml"), log, goal).passed)
print(*sorted(n for n in sys.modules if n.startswith("galley.")))
print([n for n in ("pydrake", "numba", "matplotlib", "pddlgym") if n in sys.modules])
"""
    done = python("-c", code)
    assert done.status == 0, done.err
    passed, modules, heavy = done.out.splitlines()
    assert passed == "True"
    assert heavy == "[]"
    strange = {n for n in modules.split() if n not in ALONE and not n.startswith(ALLOWED)}
    assert not strange
