"""The Franka Panda, on a foot and on wheels.

- ``kinematics``: forward and inverse, how far it reaches, its hand; ``ik``: the DH table and the
  derivation of the inverse; ``ik_kernel``: compiled
- ``urdf``: its links, and what they weigh; the base on its wheels
- ``models``: both robots, and which links are never checked against each other
- ``mobile``: where the mobile Panda's hand is, and bounds on how far its points travel
"""
