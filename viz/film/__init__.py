"""Makes films of logs.

- ``video``: ``film`` writes an H.264 file, with a close-up of the hand while it touches something
- ``side_by_side``: films two runs, each by itself and both in one picture
- ``frames``: resamples a log at the times of a film's pictures and cuts it into shots
- ``camera``: chooses the viewpoint of each shot
- ``captions``: composes the texts and draws them into the pictures
- ``pictures``: square pictures of single states, as a robot's cameras take them
"""
