"""The Franka Panda, fixed and on a mobile base.

- ``kinematics``: forward and inverse kinematics of the arm; ``ik``: its DH table and the derivation
  of the inverse; ``ik_kernel``: compiled
- ``mobile``: the hand's pose, and bounds on how far points travel
- ``description``: the robots as RobotModels without kinematics, and the pairs of links that are
  never checked; ``models``: the mobile one with kinematics
- ``mobile_kinematics``: what skills ask of the mobile Panda; ``reach_kernel``: compiled
- ``urdf``: links, joints and masses of arm and base
"""
