"""Films of logs.

- ``video``: ``film`` makes an H.264 file, with a close-up of the hand while it touches something;
  ``side_by_side``: two runs, and both in one picture
- ``frames``: resamples a log at the pictures' times and cuts it into shots; ``camera``: chooses the
  viewpoint of each shot; ``captions``: texts, and how they are drawn into pictures
"""
