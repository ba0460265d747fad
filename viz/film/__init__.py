"""Films of logs.

- ``video``: ``film`` makes an H.264 file; ``side_by_side``: two, and a third with both on one clock
- ``frames``: a log resampled at the pictures' times, cut into shots; ``camera``: the cameraman;
  ``captions``: what is said about a run, and how it gets into pictures
"""
