"""Makes demonstrations: a run of the kitchen, or an episode of pushing, for each seed.

- ``kitchen``: a run of the engine as an episode
- ``recording``: rate, cameras and kind of actions of the kitchen's episodes
- ``pushing``: an episode of pushing as a demonstration, and back
"""
