"""Skills' parts in contact: straight lines of the hand and strokes of the fingers.

- ``manipulation``: what one is; ``contacts``: those of the kitchen; ``grasps``: where fingers hold
- ``hand``: what the hand alone overlaps, whatever arm carries it
- ``reach``: base and arm configurations for one; ``lines``: the arm's along its lines
- ``escape``: out of contact, from wherever a motion was broken off
"""
