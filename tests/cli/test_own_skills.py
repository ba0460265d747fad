"""``galley run --skills FILE``: what a user's file does wrong is told with its line, exit 2."""

import pytest

DOMAIN = """\
(define (domain waving)
  (:requirements :strips :typing)
  (:types hand furniture)
  (:predicates (waved ?h - hand) (near ?f - furniture))
  (:action wave
    :parameters (?h - hand)
    :effect (waved ?h)))
"""
PROBLEM = """\
(define (problem hello)
  (:domain waving)
  (:objects h1 - hand center - furniture)
  (:init (near center))
  (:goal (waved h1)))
"""
SKILL = """\
import sys
from dataclasses import replace
import numpy as np
from galley.domain.failure import Failure, FailureKind
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path
from galley.motion.trajectory.trajectory import Trajectory
from galley.skills import Skill

def turned(action, state, joints=7, by=0.1, start=0.0, group="arm", **more):
    a = state.q[3:10][:joints] + start
    path = Path(group, np.array([a, a + by]))
    rates = np.stack([a, np.full(joints, by)])[None]
    trajectory = Trajectory(group, np.array([0.0, 1.0]), rates)
    return Motion(action.index, "wave", group, path, trajectory, **more)

class Wave(Skill):
    parameters = ("hand",)

    def refine(self, context, action, upcoming, state, rng):
        {body}

{more}
SKILLS = {{"wave": Wave()}}
"""
DEF = 1 + SKILL[: SKILL.index("    def refine")].count("\n")  # its line


@pytest.fixture
def task(tmp_path):
    """Options that name the task."""
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    return ("--domain", tmp_path / "domain.pddl", "--problem", tmp_path / "problem.pddl")


@pytest.fixture
def waving(cli, here, tmp_path, task):
    """``waving(body)``: run a task whose one action's ``refine`` has this body; what came of it."""

    def run(body="return ()", more="", domain=DOMAIN):
        (tmp_path / "domain.pddl").write_text(domain)
        file = tmp_path / "mine.py"
        file.write_text(SKILL.format(body=body, more=more))
        quick = ("--execute", "none", "--no-video", "--out", here / "run")
        done = cli("run", *task, "--skills", file, *quick)
        assert "Traceback" not in done.err
        return done

    return run


def refused(done, tmp_path, line, *words):
    (fault,) = done.faults
    assert fault.startswith(f"{tmp_path}/mine.py:{line}: "), fault
    for word in words:
        assert word in fault
    assert done.status == 2
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("command", ["run", "scene", "disturb", "demos collect"])
def test_every_command_that_takes_a_task_asks_for_its_skills(command, cli, here, task):
    done = cli(*command.split(), *task)
    assert done.status == 2
    assert "no skill carries out the action 'wave'" in done.err
    assert list(here.iterdir()) == []


def test_a_plan_of_symbols_asks_for_skills_only_if_a_file_is_given(cli, tmp_path, task):
    file = tmp_path / "mine.py"
    for name, status in (("wave", 0), ("nod", 2)):
        text = SKILL.format(body="return ()", more="").replace('"wave": W', f'"{name}": W')
        file.write_text(text)
        assert cli("plan", *task, "--skills", file).status == status, name
    assert cli("plan", *task).out.startswith("(wave h1)")


@pytest.mark.slow
def test_workers_have_the_skills_too(cli, here, tmp_path, task):
    file = tmp_path / "mine.py"
    file.write_text(SKILL.format(body="return (turned(action, state),)", more=""))
    assert cli("scene", *task, "--skills", file, "--no-picture").status == 0
    words = ("--seeds", 2, "--jobs", 2, "--execute", "kinematic", "--out", here / "waves")
    done = cli("demos", "collect", *task, "--skills", file, *words)
    assert (done.status, done.err) == (0, "")
    assert "2 episodes, " in done.out, "both moved the arm"


@pytest.mark.parametrize("body", ["return ()", "return (turned(action, state),)"])
def test_what_is_right_runs(waving, body):
    assert waving(body).status == 0


MOTIONS = "TypeError: expected a tuple of Motions, or a Failure, got "


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return None", f"{MOTIONS}None"),
        ("return [turned(action, state)]", f"{MOTIONS}["),
        ("return (turned(action, state), 3)", f"{MOTIONS}(Motion("),
        ("return (turned(action, state, group='legs'),)", "no joint group 'legs'"),
        ("return (turned(action, state, start=0.5),)", "not begin at the robot's configuration"),
        ("return (replace(turned(action, state), action_index=4),)", "with action_index 0"),
        ("return (turned(action, state, guard=5.0),)", "phase, guard, record"),
        (
            "return (turned(action, state, attachments=(Attachment('item', 'moon'),)),)",
            "moves 'moon'",
        ),
    ],
)
def test_what_refine_must_not_return(waving, tmp_path, body, words):
    refused(waving(body), tmp_path, DEF, "refine of 'wave': ", words)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit()", "SystemExit"),
        ("{}['key']", "KeyError: 'key'"),
        ("raise ValueError('two\\nlines')", "ValueError: two"),
        ("turned(action, state, by=np.nan)", "ValueError: waypoints must be finite, got nan"),
    ],
)
def test_what_refine_raises(waving, tmp_path, body, words):
    line = DEF + 1 if "turned" not in body else DEF - 8  # where the Path is made
    refused(waving(body), tmp_path, line, f"refine of 'wave': {words}")


def test_an_interrupt_from_the_keyboard_stays_one(waving):
    # Where a shell has started all of this in the background, SIGINT is ignored by default.
    body = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    done = waving(f"import signal; {body}; signal.raise_signal(signal.SIGINT)")
    assert done.status == 130
    assert done.err.startswith("interrupted")


FAILS = "(self, context, action, state):\n        return Failure("


@pytest.mark.parametrize(
    ("more", "line", "words"),
    [
        ("(self, context, action, state):\n        return False", 3, "expected a Failure or None"),
        ("(self, context, action, state):\n        sys.exit(0)", 4, "SystemExit: 0"),
        ("(self):\n        return None", 3, "TypeError: "),
        (f"{FAILS}'blocked', 'no')", 3, "expected a Failure of a FailureKind"),
        (f"{FAILS}FailureKind.BLOCKED, 'no', (), {{}}, {{'a': {{1}}}})", 3, "tolist"),
    ],
)
def test_its_other_methods(waving, tmp_path, more, line, words):
    done = waving(f"return ()\n\n    def impossible{more}")
    refused(done, tmp_path, DEF + line, "impossible of 'wave': ", words)


def test_a_skill_for_an_action_that_the_domain_does_not_have(waving, tmp_path):
    """A slip in its name would leave our own skill at work, and nobody would notice."""
    for action, hint in (("waves", "did you mean 'waves'?"), ("greet", "it has greet")):
        done = waving(domain=DOMAIN.replace("action wave", f"action {action}"))
        refused(done, tmp_path, DEF + 4, "the domain has no action 'wave'; " + hint)
