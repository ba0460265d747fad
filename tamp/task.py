"""A task-and-motion planning problem as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from galley.domain.pddl.model import Domain, Problem
from galley.domain.scene.model import Binding, Scene
from galley.domain.state import State, initial_state
from galley.skills.own import OwnSkill
from galley.skills.skill import Skill


@dataclass(frozen=True)
class TampTask:
    """What is to be achieved, in symbols and in metres.

    Attributes:
        scene: the geometry. domain, problem: the symbols.
        bindings: PDDL object to what it is in the scene.
        skills: PDDL action to what refines it to motions.
    """

    scene: Scene
    domain: Domain
    problem: Problem
    bindings: Mapping[str, Binding]
    skills: Mapping[str, Skill]

    def __repr__(self) -> str:
        return f"TampTask({self.problem.file} in {self.scene.source})"

    @property
    def start(self) -> State:
        """The State that the scene describes."""
        return initial_state(self.scene)

    @property
    def pushes(self) -> bool:
        """Whether an action of the domain pushes things."""
        skills = (self.skills.get(action.name) for action in self.domain.actions)
        return any(skill is not None and skill.role.pushes is not None for skill in skills)

    @property
    def files(self) -> frozenset[str]:
        """Every file that the task was read from."""
        places = {place.file for place in self.scene.places.values()}
        return self.own_skills | {
            *(self.scene.source, self.domain.file, self.problem.file),
            *places,
        }

    @property
    def own_skills(self) -> frozenset[str]:
        """The files of the user's skills."""
        own = (skill for skill in self.skills.values() if isinstance(skill, OwnSkill))
        return frozenset(skill.file for skill in own)
