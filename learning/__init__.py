"""Learning from runs: demonstrations of the kitchen and of pushing, and a policy for pushing.

- ``demonstrations/``: episodes, and the formats that learners read (extra ``learn``)
- ``collection/``: turns runs of the kitchen and of pushing into episodes
- ``environment``: the kitchen as a Gymnasium environment
- ``rollouts``, ``evaluation``: success rates of policies
- ``policy/``: a diffusion policy of pushing (extra ``learn``)
- ``checkpoints``: files of trained networks; learned reachability uses them too
- ``commands/``: ``galley demos`` and ``galley push``
"""
