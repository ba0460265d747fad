"""Where to stand.

- ``stances``: samples base poses for a hand pose, and proves points out of reach
- ``placement``: scored base poses for one or several hand poses, for any arm; the nearest one
- ``field``: all places and headings from which an arm reaches a set of hand poses
"""
