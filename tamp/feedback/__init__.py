"""Feedback from geometry to the task planner.

- ``failure_analysis``: why an action can't be refined, and how to react
- ``constraints``: typed failures as facts, and the task extended by them
"""
