"""Runs a plan with eyes open: execute a motion, look, compare, and go on or plan anew.

- ``loop``: motion by motion, with what it does where the world is not as planned
- ``stage``: what the engine calls: which executor runs, the loop, and what it asks for

What the loop asks where it can't go on as planned:

- ``going_on``: out of contact, then the same plan resumed, or another one
- ``observed_task``: the task as it stands, from what is seen
- ``found_places``: names for the places of items that lie where no object of the problem says
"""
