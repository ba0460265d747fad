"""The Franka Panda, fixed and on a mobile base.

- ``kinematics``: forward and inverse kinematics of the arm; ``ik``: its DH table and the derivation
  of the inverse; ``ik_kernel``: compiled
- ``mobile``: the pose of the mobile robot's hand, and bounds on how far its points travel
- ``description``: the robots as RobotModels without kinematics, and the pairs of links that are
  never checked; ``models``: the mobile one with kinematics
- ``mobile_kinematics``: the mobile Panda's ``Kinematics``, for skills; ``reach_kernel``: compiled
- ``urdf``: links, joints and masses of arm and base
"""
