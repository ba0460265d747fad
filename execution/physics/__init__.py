"""Motions under PyBullet's dynamics.

- ``executor``: motors track trajectories, guards end them, fingers grip by friction
- ``servo``: drives the robot by configurations that arrive at a rate, without Motions
- ``world``: the scene and the robot with their surfaces, joints and motors
- ``sensing``: contacts, the grip and the observed State; ``intervention``: what faults may do
"""
