"""Single actions of the kitchen, planned: the motions that tests of executors run."""

from __future__ import annotations

from dataclasses import dataclass

from galley.domain.state import State, initial_state
from galley.motion.effects import state_after
from galley.motion.motion import Motion
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings
from galley.skills.manipulation.optimize import optimize_trajectories

SUGAR = (("navigate", "center", "burner"), ("pick", "sugar", "burner", "h1"))
DRAWER = (("navigate", "center", "drawer"), ("open", "drawer", "h1"))


@dataclass(frozen=True)
class Errand:
    """Motions one after another, with their names and the State before each."""

    motions: tuple[Motion, ...]
    names: tuple[str, ...]
    states: tuple[State, ...]

    def of(self, ending):
        """Index of the first motion whose name ends so."""
        return next(k for k, name in enumerate(self.names) if name.endswith(ending))

    def part(self, first, last):
        """The motions from one to another, both by the ends of their names."""
        where = slice(self.of(first), self.of(last) + 1)
        return Errand(self.motions[where], self.names[where], self.states[where])


def errand(scene, world, *actions, seed=2):
    """Actions such as ``("pick", "sugar", "burner", "h1")`` as motions, from the scene's start."""
    robot = world.robot
    context = PlanningContext(scene, robot, world, Settings(seed=seed))
    state, motions, names, states = initial_state(scene), [], [], []
    for k, (name, *objects) in enumerate(actions):
        action = BoundAction(k, name, tuple(scene.binding(each) for each in objects))
        refined = SKILLS[name].refine(context, action, (), state, context.rng(k))
        assert isinstance(refined, tuple), str(refined)
        for motion in optimize_trajectories(context, refined, state):
            motions.append(motion)
            names.append(f"{action} | {motion.phase}")
            states.append(state)
            state = state_after(scene, robot, motion, state)
    return Errand(tuple(motions), tuple(names), tuple(states))
