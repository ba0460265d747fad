"""What learns from runs: demonstrations of the kitchen and of pushing, and a policy that pushes.

- ``demonstrations/``: episodes, and the formats that learners read (extra ``learn``)
- ``collection/``: makes episodes of the kitchen's runs and of pushing
- ``environment``: the kitchen for Gymnasium
- ``rollouts``, ``evaluation``: how often a policy succeeds
- ``policy/``: a diffusion policy of pushing (extra ``learn``)
- ``checkpoints``: what a trained network is stored as; learned reachability uses it too
- ``commands/``: ``galley demos`` and ``galley push``
"""
