"""Motions under PyBullet's dynamics.

- ``executor``: motors follow trajectories, guards end them, fingers grip by friction
- ``world``: the scene and the robot with their surfaces, motors and contacts
"""
