"""Plan validation on the lifted PDDL, which shares no code with grounding and search.

- ``validation``: reads and checks a plan; ``semantics``: evaluates formulas and applies effects
- ``gym_replay``: executes a plan in PDDLGym, as an independent check
"""
