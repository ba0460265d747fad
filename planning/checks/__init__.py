"""Plan validation on the lifted PDDL, sharing no code with grounding and search.

- ``semantics``: evaluates formulas and applies effects; ``validation``: reads and checks a plan
- ``gym_replay``: executes a plan in PDDLGym
"""
