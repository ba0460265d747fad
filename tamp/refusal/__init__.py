"""The search's no.

- ``foresight``: what can be said of a plan before anything moves: impossible actions, reach, room
- ``proofs``: which lessons leave no plan, and proofs for those only suspected
"""
