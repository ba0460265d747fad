"""Where the base can stand to reach something.

- ``stances``: samples base poses for a hand pose, and proves points out of reach
- ``placement``: scored base poses for a hand pose
- ``field``: all places and headings from which an arm reaches a set of hand poses
"""
