"""What geometry tells the task planner.

- ``advice``: why an action is stuck, and what to do about it
- ``lessons``: typed failures as facts, and the task that has room for them
"""
