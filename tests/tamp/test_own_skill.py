"""Own skills: what a skill file may be, and the page's example carried out and measured."""

import pickle
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import galley
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.errors import BadInput
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import transform
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.domain.state import Placement, initial_state
from galley.execution.kinematic import KinematicExecutor, execute_all
from galley.motion.effects import effects, state_after
from galley.motion.motion import FREE
from galley.planning import SearchLimits, ground, replay, search, validate_actions
from galley.robots.panda.mobile import hand_pose
from galley.robots.panda.models import mobile_panda
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings, Skill, skill_set
from galley.skills.own import load_skills
from galley.tamp.binding import bind_plan, check_init, check_skills, tamp_task
from galley.tamp.checks import audit
from galley.tests.refining import refine
from galley.validation import Goal, validate_run

DOCS = Path(__file__).parents[2] / "docs"
WIPING = DOCS / "wiping"
FILES = ("wiping.pddl", "wiping_task.pddl", "wiping.yaml", "sponge_grasps.yaml", "wipe.py")

SKILL = """\
from galley.skills import Skill

class Wave(Skill):
    parameters = ("hand",)

    def refine(self, context, action, upcoming, state, rng):
        return ()

"""


# -- loading ---------------------------------------------------------------------------------------


def written(tmp_path, text):
    file = tmp_path / "mine.py"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_file_of_skills_is_loaded_and_takes_precedence(tmp_path):
    file = written(tmp_path, SKILL + "SKILLS = {'wave': Wave(), 'pick': Wave()}\n")
    own = load_skills(file)
    assert set(own) == {"wave", "pick"}
    assert all(isinstance(skill, Skill) for skill in own.values())
    merged = skill_set(own)
    assert merged["pick"] is own["pick"]
    assert set(merged) == set(SKILLS) | {"wave"}
    assert type(SKILLS["pick"]) is not type(own["pick"]), "the shipped ones stay as they are"


def test_a_worker_that_lacks_the_module_gets_the_skill_from_its_file(tmp_path, monkeypatch):
    sent = pickle.dumps(load_skills(written(tmp_path, SKILL + "SKILLS = {'wave': Wave()}\n")))
    for name in [each for each in sys.modules if each.startswith("galley_own_")]:
        monkeypatch.delitem(sys.modules, name)
    assert pickle.loads(sent)["wave"].parameters == ("hand",)


def test_two_files_of_one_name_do_not_clash_and_leave_nothing_behind(tmp_path):
    (tmp_path / "other").mkdir()
    first = load_skills(written(tmp_path, SKILL + "SKILLS = {'wave': Wave()}\n"))
    second = load_skills(written(tmp_path / "other", SKILL + "SKILLS = {'nod': Wave()}\n"))
    assert set(first) == {"wave"}
    assert set(second) == {"nod"}
    assert type(first["wave"].own).__module__ != type(second["nod"].own).__module__
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.py", "other"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("x = 1\n", None, "needs SKILLS = {'wipe': Wipe()}"),
        ("x = 1\n\ndef f(:\n", 3, "is not valid Python"),
        ("import math\nmath.sqrt(-1)\n", 2, "fails while it is read: ValueError"),
        ("\nimport no_such_module_here\n", 2, "ModuleNotFoundError"),
        ("import sys\n\nsys.exit(3)\n", 3, "SystemExit"),
        ("def f():\n    raise RuntimeError('a\\nb')\nf()\n", 2, "RuntimeError: a"),
        ("\nSKILLS = [1]\n", 2, "it has [1]"),
        ("\nSKILLS = {}\n", 2, "it has {}"),
        (SKILL + "SKILLS = {'wave': Wave}\n", 9, "an instance: Wave()"),
        (SKILL + "SKILLS = {\n    'wave': Wave(),\n    'nod': 3,\n}\n", 9, "'nod' is 3"),
        (SKILL + "SKILLS = {'Big Wave': Wave()}\n", 9, "not the name of a PDDL action"),
        (SKILL + "SKILLS = {7: Wave()}\n", 9, "not the name of a PDDL action"),
        (SKILL + "Wave.parameters = ('foot',)\nSKILLS = {'wave': Wave()}\n", 10, "parameters"),
        (SKILL.replace("def refine", "def renamed") + "SKILLS = {'w': Wave()}\n", 9, "TypeError"),
        ("SKILLS = {'a': '\x00'}\n", None, "is not valid Python"),
        (b"\xff\xfe\x00", None, "UTF-8"),
    ],
)
def test_a_fault_is_bad_input_with_file_and_line(tmp_path, text, line, says):
    file = written(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        load_skills(file)
    (error,) = caught.value.errors
    assert error.file == str(file)
    assert says in error.what
    assert "\n" not in str(error)
    if line is not None:
        assert error.line == line


def test_every_faulty_entry_is_told(tmp_path):
    file = written(tmp_path, SKILL + "SKILLS = {\n 'a': 1,\n 'b': Wave(),\n 'c': None}\n")
    with pytest.raises(BadInput) as caught:
        load_skills(file)
    assert [error.what[:3] for error in caught.value.errors] == ["'a'", "'c'"]


@pytest.mark.parametrize("name", ["nothing.py", "."])
def test_what_is_no_file_is_bad_input(tmp_path, name):
    with pytest.raises(BadInput, match=r"no such file|is a folder"):
        load_skills(tmp_path / name)


# -- the page's example ----------------------------------------------------------------------------


def test_the_page_quotes_the_files_as_they_are():
    page = (DOCS / "own_skills.md").read_text()
    blocks = re.findall(r"^```(?:lisp|yaml|python)\n(.*?)^```$", page, re.M | re.S)
    quoted = [block for block in blocks if "# wrong:" not in block]
    assert len(quoted) >= 6
    files = [(WIPING / name).read_text() for name in FILES]
    for block in quoted:
        assert any(block in text for text in files), block


def test_the_page_quotes_the_message_as_it_is(tmp_path):
    page = (DOCS / "own_skills.md").read_text()
    file = tmp_path / "wipe.py"
    file.write_text((WIPING / "wipe.py").read_text().replace('{"wipe": Wipe()}', '{"wipe": Wipe}'))
    with pytest.raises(BadInput) as caught:
        load_skills(file)
    assert str(caught.value).replace(str(file), "wipe.py") in page.splitlines()


@pytest.mark.slow
def test_the_pages_guard_presses_as_hard_as_it_says(tmp_path):
    (skill,) = re.findall(r"^```py\n(.*?)^```$", (DOCS / "own_skills.md").read_text(), re.M | re.S)
    (tmp_path / "press.py").write_text(skill)
    domain = (KITCHEN / "kitchen.pddl").read_text()
    domain = domain.replace("(:predicates", "(:predicates (pressed ?fur - furniture)")
    action = """(:action press :parameters (?fur - furniture ?h - hand)
        :precondition (and (near ?fur) (empty ?h)) :effect (pressed ?fur)))"""
    (tmp_path / "domain.pddl").write_text(domain.rstrip().removesuffix(")") + action)
    (tmp_path / "task.pddl").write_text("""(define (problem p) (:domain kitchen)
        (:objects countertop burner drawer center - furniture  sugar spam - objective  h1 - hand)
        (:init (near center) (on sugar burner) (on spam burner) (empty h1))
        (:goal (pressed countertop)))""")
    names = {"domain": "domain.pddl", "problem": "task.pddl", "skills": "press.py"}
    task = galley.load(**{key: tmp_path / name for key, name in names.items()})
    run = galley.execute(galley.solve(task))
    assert run.verdict.passed, run.verdict
    # What the counter feels of both fingers, a sum for each sample of the guarded motion.
    log, felt = run.log, np.zeros(len(run.log.time))
    (guarded,) = np.flatnonzero(log.guards == 5.0)
    for pair, step, force in zip(
        log.contact_pair, log.contact_step, log.contact_force, strict=True
    ):
        names = sorted(log.names[pair])
        if log.motion[step] == guarded and names[0] == "hitman" and "finger" in names[1]:
            felt[step] += force
    assert "5 N" in str(log.ends[guarded])
    assert 5.0 <= felt.max() <= 25.0


@pytest.fixture(scope="module")
def scene():
    return load_scene(WIPING / "wiping.yaml")


@pytest.fixture(scope="module")
def world(scene):
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        yield world


@pytest.fixture(scope="module")
def wiped(scene, world):
    """The task planned and refined once: plan, start, and each motion with its State."""
    domain = read_domain(WIPING / "wiping.pddl")
    problem = read_problem(WIPING / "wiping_task.pddl", domain)
    skills = skill_set(load_skills(WIPING / "wipe.py"))
    task = tamp_task(scene, domain, problem, skills)
    check_skills(domain, skills)
    check_init(task)
    state, bindings = task.start, task.bindings
    plan = search(ground(domain, problem), "bfs", SearchLimits())
    assert validate_actions(domain, problem, plan.actions).valid
    assert replay(domain, problem, plan.actions).status == "agrees"
    context = PlanningContext(scene, world.robot, world, Settings(seed=1, optimize="none"))
    found = refine(context, bind_plan(plan.actions, bindings), state, skills)
    assert not isinstance(found, Failure), str(found)
    steps, at = [], state
    for motion in found.motions:
        steps.append((motion, at))
        at = state_after(scene, world.robot, motion, at)
    return plan, state, steps, at


def test_the_plan_wipes_with_the_sponge_in_the_hand(wiped):
    names = [str(action) for action in wiped[0].actions]
    assert "(wipe sponge patch h1)" in names
    assert names.index("(pick sponge countertop h1)") < names.index("(wipe sponge patch h1)")


def swept(scene, robot, steps):
    """Poses X_WI of the sponge, at most 4 mm apart, in the motions that wipe."""
    index = scene.item_index["sponge"]
    for motion, state in steps:
        if motion.phase.split(": ")[-1] != "wipe":
            continue
        model = effects(scene, robot, motion, state)
        length = motion.trajectory.duration * 0.3  # m, generous: the hand makes 0.15 m/s
        for t in np.linspace(0.0, motion.trajectory.duration, max(2, int(length / 0.002))):
            at = model.at(motion.trajectory(t))
            yield hand_pose(at.q, scene.robot.base) @ at.items[index].X_PI


def test_the_sponge_covers_the_whole_patch_a_millimetre_above_it(scene, world, wiped):
    """Cells of 4 mm: each centre is under the sponge's face at some time."""
    lower, upper = scene.region("patch").boxes[0]
    x, y = (np.arange(lower[k] + 0.002, upper[k], 0.004) for k in (0, 1))
    cells = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    covered = np.zeros(len(cells), dtype=bool)
    half, poses = scene.item("sponge").size / 2, 0
    for X in swept(scene, world.robot, wiped[2]):
        poses += 1
        np.testing.assert_allclose(X[2, :3], [0, 0, 1], atol=0.02)  # flat on it
        corners = X[:3, :3] @ (np.array([[-1, 1], [-1, 1], [-1, -1]]) * half[:, None]) + X[:3, 3:]
        assert corners[2].min() >= 0.930
        assert corners[2].max() - 0.930 < 0.003
        local = (cells - X[:2, 3]) @ X[:2, :2]
        covered |= (np.abs(local) <= half[:2]).all(axis=1)
    assert poses > 300
    assert covered.mean() > 0.995


def test_a_skill_judges_from_what_was_executed_whether_its_effect_holds(scene, world, wiped):
    _, start, steps, _ = wiped
    executor = KinematicExecutor(world, start)
    log = execute_all(executor, tuple(m for m, _ in steps), tuple(m.phase for m, _ in steps))
    rows = [k for k, (motion, _) in enumerate(steps) if motion.phase.endswith(": wipe")]
    without = ~np.isin(log.motion, rows[len(rows) // 2 :])  # the later rows were left out
    parts = ("time", "q", "velocity", "command", "torque", "scene_q", "items", "held", "motion")
    touched = ("contact_step", "contact_pair", "contact_distance", "contact_force")
    cut = replace(
        log,
        **{name: getattr(log, name)[without] for name in parts},
        **{name: getattr(log, name)[:0] for name in touched},
    )
    domain = read_domain(WIPING / "wiping.pddl")
    problem = read_problem(WIPING / "wiping_task.pddl", domain)
    skill = load_skills(WIPING / "wipe.py")["wipe"]
    for executed, done in ((log, True), (cut, False)):
        judges = (SKILLS["pick"].judge, skill.judge)  # the kitchen's can't tell
        goal = Goal(domain, problem, judges=tuple(partial(j, scene, executed) for j in judges))
        clean, put_back = validate_run(scene, executed, goal).goal_facts
        assert clean.holds == done
        assert "of patch was under the tool" in clean.why
        assert put_back.holds, "what has a geometric meaning is judged as ever"


@pytest.mark.parametrize("answer", ["True", "(True, 3)", "1 / 0"])
def test_a_verdict_that_is_none_is_told_with_its_line(tmp_path, answer):
    text = SKILL + f"    def judge(self, scene, log, predicate, things):\n        return {answer}\n"
    skill = load_skills(written(tmp_path, text + "SKILLS = {'wave': Wave()}\n"))["wave"]
    with pytest.raises(BadInput, match=r"mine\.py:(9|10): judge of 'wave'"):
        skill.judge(None, None, "waved", ())


def test_nothing_is_touched_in_a_world_of_its_own(scene, world, wiped):
    _, start, steps, _ = wiped
    found = audit(scene, world.robot, tuple(motion for motion, _ in steps), start)
    assert {motion.record.audit for motion in found} == {FREE}
    for motion, _ in steps:  # and what may be touched is what wiping touches
        if "wipe" in motion.phase.split(": ")[-1]:
            others = {name for pair in motion.allowed for name in pair} - set(world.robot.links)
            assert others == {"sponge", "hitman"}


def wipe(scene, where):
    bindings = tuple(scene.binding(name) for name in ("sponge", where, "h1"))
    return load_skills(WIPING / "wipe.py")["wipe"], BoundAction(0, "wipe", bindings)


def test_what_stands_on_the_patch_is_named_and_not_wiped_away(scene, world, wiped):
    skill, action = wipe(scene, "patch")
    held = next(s for m, s in wiped[2] if m.phase.endswith("lower"))
    height = scene.item("sugar_box").size[2] / 2
    put = Placement("world", transform(None, (0.1, -0.6, 0.93 + height)))
    state = held.with_item(scene.item_index["sugar_box"], put)
    context = PlanningContext(scene, world.robot, world)
    failure = skill.refine(context, action, (), state, np.random.default_rng(0))
    assert failure.kind is FailureKind.BLOCKED
    assert failure.objects == ("sugar_box",)
    assert "sugar_box" in str(failure)
    assert "sugar_box" in failure.certificate["outlines_m"]


def test_what_has_no_surface_is_refused_before_anything_moves(scene, world):
    context, start = PlanningContext(scene, world.robot, world), initial_state(scene)
    for where, refused in (("center", True), ("drawer", True), ("patch", False)):
        skill, action = wipe(scene, where)
        assert (skill.impossible(context, action, start) is not None) == refused
