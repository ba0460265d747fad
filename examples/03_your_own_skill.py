# %% [markdown]
# # 3. Your own skill
#
# A skill turns one PDDL action into motions. Here: `inspect`, for which the hand goes down over the
# middle of a surface, as if to look at it with a camera, and up again. docs/own_skills.md builds a
# larger one that wipes a surface with a sponge.
#
# First the action. Everything else in the domain is the kitchen's.

# %%
from pathlib import Path

import galley
from galley.domain.shipped import KITCHEN

OUT = Path("runs/examples/own_skill")
OUT.mkdir(parents=True, exist_ok=True)

domain = (KITCHEN / "kitchen.pddl").read_text()
domain = domain.replace("(:predicates", "(:predicates\n    (seen ?r - furniture)")
action = """
  (:action inspect
    :parameters (?fur - furniture ?h - hand)
    :precondition (and (near ?fur) (empty ?h))
    :effect (seen ?fur))
)"""
(OUT / "domain.pddl").write_text(domain.rstrip().removesuffix(")") + action)
(OUT / "problem.pddl").write_text("""
(define (problem look_around) (:domain kitchen)
  (:objects countertop burner drawer center - furniture  sugar spam - objective  h1 - hand)
  (:init (near center) (on sugar burner) (on spam burner) (empty h1))
  (:goal (and (seen countertop) (near center))))
""")

# %% [markdown]
# The skill is a file of its own. It yields `Manipulation`s: straight lines of the hand. The
# planner takes the first that the arm can follow free of collision, from a stance that it chooses.
# **Change** `LOW`, or the direction in which the hand points.

# %%
(OUT / "inspect_skill.py").write_text('''
"""inspect(furniture, hand): the hand goes down over the middle of a surface, and up again."""

from functools import partial

import numpy as np

from galley.domain.frames import rotation_z, transform
from galley.skills import Skill
from galley.skills.manipulation.manipulation import CARRY_SPEED, Line, Manipulation, straight
from galley.skills.skill import Role, region_of
from galley.skills.manipulation.step import SkillStep, carry_out

HIGH, LOW = 0.45, 0.25  # m of the hand above the surface


def looks(context, region, state, rng):
    """Ways to look: the hand points down, turned at random about the vertical."""
    X_WB = context.scene.body_pose(region.body, state.scene_q)
    x, y, z = X_WB[:3, :3] @ region.boxes[0].mean(axis=0) + X_WB[:3, 3]
    while True:
        R = rotation_z(rng.uniform(-np.pi, np.pi)) @ np.diag([1.0, -1.0, -1.0])
        high, low = transform(R, [x, y, z + HIGH]), transform(R, [x, y, z + LOW])
        ways = (("lower", high, low), ("lift", low, high))
        lines = [
            Line(phase, straight(a, b), state, frozenset(), (), CARRY_SPEED) for phase, a, b in ways
        ]
        yield Manipulation("look down", tuple(lines), 0.04)


class Inspect(Skill):
    parameters = ("furniture", "hand")
    role = Role(uses=0)

    def refine(self, context, action, upcoming, state, rng):
        place = action.bindings[0]
        find = partial(looks, context, region_of(context, place))
        return carry_out(context, action, [SkillStep(find, place)], state, rng)


SKILLS = {"inspect": Inspect()}
''')

# %% [markdown]
# **Look** at the plan and at the phases of its motions: free motions lead to and from your lines.

# %%
task = galley.load(
    domain=OUT / "domain.pddl", problem=OUT / "problem.pddl", skills=OUT / "inspect_skill.py"
)
solution = galley.solve(task)
assert isinstance(solution, galley.Solution), solution
for index, bound in enumerate(solution.plan):
    phases = [motion.phase for motion in solution.motions if motion.action_index == index]
    print(f"{bound}: {', '.join(phases)}")
run = galley.execute(solution, executor="kinematic")
print("passed" if run.verdict.passed else "failed", "after", round(run.log.duration, 1), "s")
galley.film(run, OUT / "film.mp4", height=240, fps=5, speed=4)
print("look at", OUT / "film.mp4")
