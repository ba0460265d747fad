"""Execution under PyBullet's dynamics.

- ``executor``: motors track trajectories, guards end them, fingers grip by friction
- ``servo``: drives the robot from configuration to configuration, without Motions
- ``world``: the scene and the robot with their surfaces, joints and motors
- ``sensing``: contacts, the held item and the observed State
- ``intervention``: the forces and friction by which faults disturb a run
"""
