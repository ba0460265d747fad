"""Kinematics of any serial arm on a base, from its URDF alone.

- ``chain``: the arm as data; ``bounds``: how far it reaches, and how far its points move
- ``branches``: starts for its inverse kinematics; ``chain_kernel``: compiled
- ``kinematics``: ``ChainKinematics``, the interface for skills
"""
