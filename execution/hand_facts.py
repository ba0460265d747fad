"""What the symbols say of the hand, put right by what is in it.

That a hand is empty or holds something has no geometry in the domain's own words. But the actions
that take and put things say which facts change with it: where the symbols believe in another item
in the hand than is there, the effects of taking and putting are applied, those on furniture left
out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from galley.domain.formula import Fact, Literal
from galley.domain.pddl import ActionSchema, Domain, Problem
from galley.domain.scene import Binding
from galley.planning import Semantics
from galley.skills import Skill


@dataclass(frozen=True)
class HandFacts:
    """The facts of one task about what is in a hand.

    Attributes:
        domain, problem: the task's. bindings: what its objects are. skills: by action.
    """

    domain: Domain
    problem: Problem
    bindings: Mapping[str, Binding]
    skills: Mapping[str, Skill]

    def corrected(self, facts: Collection[Fact], held: str | None) -> frozenset[Fact]:
        """``facts`` with exactly the item called ``held`` in a hand, by its PDDL name; or none."""
        state = frozenset(facts)
        for item in self._believed(state):
            if item != held:
                state = self._changed(state, "puts", item)
        if held is not None and held not in self._believed(state):
            state = self._changed(state, "takes", held)
        return state

    def _believed(self, state: frozenset[Fact]) -> list[str]:
        """The items that the symbols have in a hand: all that taking one makes true is."""
        found = []
        for item, binding in self.bindings.items():
            if binding.kind != "item":
                continue
            for schema, bound in self._ways("takes", item):
                added = self._changes(schema, bound, state)[0]
                if added and added <= state:
                    found.append(item)
                    break
        return found

    def _changed(self, state: frozenset[Fact], what: str, item: str) -> frozenset[Fact]:
        """After taking, or putting, an item: by the action whose conditions hold most nearly."""
        best: tuple[int, frozenset[Fact]] | None = None
        for schema, bound in self._ways(what, item):
            added, deleted = self._changes(schema, bound, state)
            missing = sum(
                (literal.ground(bound) in state) != literal.positive
                for literal in schema.precondition
                if isinstance(literal, Literal) and self._of_hand(literal.ground(bound))
            )
            if best is None or missing < best[0]:
                best = missing, (state - deleted) | added
        return state if best is None else best[1]

    def _ways(self, what: str, item: str) -> Iterator[tuple[ActionSchema, dict[str, str]]]:
        """Actions that take (or put) an item, with each hand, and any one piece of furniture."""
        semantics = Semantics(self.domain, self.problem)
        for schema in self.domain.actions:
            skill = self.skills.get(schema.name)
            position = None if skill is None else getattr(skill.role, what)
            if position is None:
                continue
            choices = []
            for k, variable in enumerate(schema.parameters):
                fitting = semantics.objects(variable.types)
                if k == position:
                    fitting = tuple(name for name in fitting if name == item)
                elif fitting and self._kind(fitting[0]) != "hand":
                    fitting = fitting[:1]
                choices.append(fitting)
            names = [variable.name for variable in schema.parameters]
            for args in product(*choices):
                yield schema, dict(zip(names, args, strict=True))

    def _changes(
        self, schema: ActionSchema, bound: Mapping[str, str], state: frozenset[Fact]
    ) -> tuple[frozenset[Fact], frozenset[Fact]]:
        """What an action adds and deletes, facts of furniture left out."""
        semantics = Semantics(self.domain, self.problem)
        added, deleted = semantics.changes(schema.effect, bound, state)
        return (
            frozenset(fact for fact in added if self._of_hand(fact)),
            frozenset(fact for fact in deleted if self._of_hand(fact)),
        )

    def _of_hand(self, fact: Fact) -> bool:
        return all(self._kind(name) in ("hand", "item") for name in fact.args)

    def _kind(self, name: str) -> str:
        binding = self.bindings.get(name)
        return "" if binding is None else binding.kind
