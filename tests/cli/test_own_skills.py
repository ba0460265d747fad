"""``galley run --skills FILE``: what a user's file does wrong is told with its line, exit 2."""

import pytest

from galley.tests.effort import quick_first

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
import os, sys
from dataclasses import replace
import numpy as np
from galley.domain.failure import Failure, FailureKind
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path
from galley.motion.trajectory.trajectory import Trajectory
from galley.skills import Skill

class Odd(BaseException):
    pass

class Mute(Exception):
    def __str__(self):
        raise RuntimeError("nothing to say")

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
MOTIONS = "a tuple of Motions, or a Failure"


@pytest.fixture
def waving(cli, here, tmp_path):
    """``waving(body)``: run a task whose one action's ``refine`` has this body; what came of it."""
    (tmp_path / "problem.pddl").write_text(PROBLEM)

    def run(body="return ()", more="", domain=DOMAIN, using=cli):
        (tmp_path / "domain.pddl").write_text(domain)
        file = tmp_path / "mine.py"
        file.write_text(SKILL.format(body=body, more=more))
        told = ("--domain", tmp_path / "domain.pddl", "--problem", tmp_path / "problem.pddl")
        quick = ("--execute", "none", "--no-video", "--out", here / "run")
        done = using("run", *told, "--skills", file, *quick)
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


@pytest.mark.parametrize("body", ["return ()", "return (turned(action, state),)"])
def test_what_is_right_runs(waving, body):
    assert waving(body).status == 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return None", "returned None"),
        ("return 'done'", "returned a str"),
        ("return [turned(action, state)]", "returned a list"),
        ("yield turned(action, state)", "returned a generator"),
        ("return (turned(action, state), 3)", "at 1 of its tuple, an int"),
        ("return (turned(action, state, joints=6),)", "of 6 joints, 'arm' has 7"),
        ("return (turned(action, state, group='legs'),)", "no joint group 'legs'"),
        ("return (turned(action, state, start=0.5),)", "does not begin where the robot is"),
        ("return (replace(turned(action, state), trajectory=None),)", "whose trajectory is None"),
        ("return (replace(turned(action, state), action_index=4),)", "action_index is 4, not 0"),
        ("return (turned(action, state, attachments=('sugar',)),)", "that are no Attachment"),
        (
            "return (turned(action, state, attachments=(Attachment('item', 'moon'),)),)",
            "moves 'moon'",
        ),
        ("return (turned(action, state, allowed=frozenset({'hand'})),)", "not of pairs"),
        ("return Failure('blocked', 'it is in the way')", "no FailureKind"),
        (
            "return Failure(FailureKind.BUDGET, 'no', certificate={'a': object()})",
            "no plain texts and numbers",
        ),
    ],
)
def test_what_refine_must_not_return(waving, tmp_path, body, words):
    refused(waving(body), tmp_path, DEF, "refine of 'wave' returned", words, f"expected {MOTIONS}")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("sys.exit()", "SystemExit"),
        ("raise Odd('really')", "Odd: really"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise Mute", "Mute"),
        ("{}['key']", "KeyError: 'key'"),
        ("raise ValueError('two\\nlines')", "ValueError: two;"),
        ("Path('arm', np.full((2, 7), np.inf))", "ValueError: waypoints must be finite, got inf"),
        ("turned(action, state, by=np.nan)", "ValueError: waypoints must be finite, got nan"),
    ],
)
def test_what_refine_raises(waving, tmp_path, body, words):
    line = DEF + 1 if "turned" not in body else DEF - 8  # where the Path is made
    refused(waving(body), tmp_path, line, f"refine of 'wave' raised {words}", MOTIONS)


def test_an_interrupt_from_the_keyboard_stays_one(waving):
    # Where a shell has started all of this in the background, SIGINT is ignored by default.
    body = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    done = waving(f"import signal; {body}; signal.raise_signal(signal.SIGINT)")
    assert done.status == 130
    assert done.err.startswith("interrupted")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("def impossible(self, context, action, state):\n        return False", "returned a bool"),
        ("def impossible(self, context, action, state):\n        sys.exit(0)", "SystemExit: 0"),
        ("def impossible(self):\n        return None", "TypeError: "),
    ],
)
def test_its_other_methods(waving, tmp_path, more, words):
    done = waving(f"return ()\n\n    {more.replace(': return', ': return')}")
    assert "expected None, or a Failure" in done.err
    refused(done, tmp_path, DEF + (4 if "exit" in more else 3), "impossible of 'wave' ", words)


@pytest.mark.parametrize(
    "statements",
    quick_first(
        2,
        [
            ("sys.stdout.close(); sys.stderr.close(); return ()", ""),
            ("return ()", "os.close(1); os.close(2)"),
            ("return ()", "sys.stdout.close()"),
            ("return ()", "sys.stdout = open(os.devnull, 'w')"),
            ("os.dup2(os.open(os.devnull, os.O_WRONLY), 1); return ()", ""),
        ],
    ),
)
def test_stdout_is_left_open(waving, tmp_path, engine, statements):
    body, more = statements
    done = waving(body, more, using=engine)
    assert "1/1" not in done.out
    refused(done, tmp_path, DEF + 3 if more else DEF, "closes or replaces stdout")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("sys.exit(0)", "SystemExit: 0"),
        ("raise Odd", "Odd"),
        ("raise GeneratorExit('so')", "GeneratorExit: so"),
        ("raise Mute", "Mute"),
    ],
)
def test_what_the_file_raises_while_it_is_read(waving, tmp_path, more, words):
    refused(waving(more=more), tmp_path, DEF + 3, f"fails while it is read: {words}")


def test_a_skill_for_an_action_that_the_domain_does_not_have(waving, tmp_path):
    """A slip in its name would leave our own skill at work, and nobody would notice."""
    for action, hint in (("waves", "did you mean 'waves'?"), ("greet", "it has greet")):
        done = waving(domain=DOMAIN.replace("action wave", f"action {action}"))
        refused(done, tmp_path, DEF + 4, "the domain has no action 'wave'; " + hint)
