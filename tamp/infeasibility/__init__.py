"""Infeasible plans and tasks; ``skills.infeasibility`` has what is said of one action.

- ``feasibility``: checks of a plan before any motion is planned: impossible actions, reach, room
- ``proofs``: minimal unsatisfiable sets of constraints, and proofs for the suspected ones
"""
