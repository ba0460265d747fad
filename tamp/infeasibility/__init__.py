"""Infeasible plans and tasks; for single actions see ``skills.infeasibility``.

- ``feasibility``: checks of a plan before any motion is planned: impossible actions, reach, room
- ``proofs``: minimal unsatisfiable sets of constraints, and proofs for the suspected ones
"""
