"""Whether a plan is one: checked against the PDDL itself, sharing nothing with the search.

- ``semantics``: what formulas and effects mean; ``validation``: reads a plan and checks it
- ``gym_replay``: the same by PDDLGym
"""
