"""Grounding: computes from PDDL the actions and facts reachable in the delete relaxation.

- ``relaxation``: the fixpoint of relaxed reachability
- ``schemas``: instantiates action schemas and formulas
"""
