"""Any serial arm on a base, from its URDF alone.

- ``chain``: the arm as data; ``bounds``: how far it reaches and moves
- ``branches``: inverse kinematics; ``kinematics``: what skills ask
"""
