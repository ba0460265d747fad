"""Where to stand, and with which elbow.

- ``arm``: arm configurations for a hand pose, and along a line of poses
- ``stances``: random base poses worth trying, and a bound that proves a point out of reach
"""
