"""The judge shares no code with those it judges."""

from galley.tests.command_line import python

ALLOWED = ("galley.domain", "galley.compiled", "galley.robots", "galley.validation")
ALONE = {"galley.collision", "galley.collision.backends", "galley.collision.backends.bullet"}
# Kinematics of the robots that planning uses: poses come from PyBullet here.
NEVER = (
    *("galley.domain.predicates", "galley.domain.state"),
    *("galley.robots.panda.mobile", "galley.robots.spheres"),
    *("galley.robots.collision_model", "galley.robots.urdf_"),
)


def test_judging_a_run_loads_nothing_of_planning(run_folder, kitchen_folder):
    """``test_architecture`` looks at the imports that stand in the files."""
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
    assert (passed, heavy) == ("True", "[]")
    loaded = set(modules.split())
    assert "galley.validation.judge" in loaded
    assert not {n for n in loaded if n not in ALONE and not n.startswith(ALLOWED)}
    assert not {n for n in loaded if n.startswith(NEVER)}
