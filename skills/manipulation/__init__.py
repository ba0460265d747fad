"""Motions in contact: straight lines of the hand and strokes of the fingers.

- ``manipulation``: the description; ``contacts``: those of the kitchen; ``grasps``: of an item
- ``hand``: collisions of the hand alone, without the arm
- ``reach``: base and arm configurations for a manipulation; ``lines``: along its lines
- ``escape``: out of contact after an interrupted motion
"""
