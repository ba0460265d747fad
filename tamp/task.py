"""A task-and-motion planning problem as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from galley.domain.pddl.formula import Literal
from galley.domain.pddl.model import Domain, Problem
from galley.domain.scene.model import Binding, Scene
from galley.domain.state import State, initial_state
from galley.skills.own import OwnSkill
from galley.skills.skill import Skill


@dataclass(frozen=True)
class TampTask:
    """A planning problem in PDDL, the scene that gives it geometry, and the skills.

    Attributes:
        scene: the geometry.
        domain: the PDDL domain.
        problem: the PDDL problem.
        bindings: what each PDDL object is in the scene, by the object's name.
        skills: what refines each PDDL action to motions, by the action's name.
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

    def with_pushes(self) -> Self | None:
        """The task with the action ``push_aside`` added, or None.

        It has the preconditions of ``pick``: an item that can be picked up can be pushed aside, and
        stays on its furniture. None if an action pushes already, or if the domain has no ``pick``
        with the parameters of ours.
        """
        pick, skills = self.domain.action("pick"), self.skills
        if self.pushes or pick is None or not {"pick", "push_aside"} <= set(skills):
            return None
        if skills["pick"].parameters != skills["push_aside"].parameters:
            return None
        item, place = (each.name for each in pick.parameters[:2])
        there = (each for each in pick.precondition if isinstance(each, Literal) and each.positive)
        stays = tuple(each for each in there if {item, place} <= set(each.args))
        aside = replace(pick, name="push_aside", effect=stays)
        return replace(self, domain=replace(self.domain, actions=(*self.domain.actions, aside)))

    @property
    def files(self) -> frozenset[str]:
        """Every file that the task was read from, those of the user's skills included."""
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
