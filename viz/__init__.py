"""Pictures of runs: film, scene pictures, camera work. Reads logs and scenes, changes nothing.

- ``video``: ``film`` makes an H.264 file of a log; ``film_crew``, ``film_job``, ``film_worker`` are
  the processes that draw it
- ``renderer``: the choice of a renderer that works here; ``picture``: what each does;
  ``vtk_renderer`` (Drake), ``tiny_renderer`` (PyBullet), ``vtk_probe``, ``changed_window``
- ``camera``: the virtual cameraman; ``shots``, ``sightlines`` and ``view`` are what it works with
- ``frames``: a log resampled at the times of a film's pictures
- ``captions``, ``fonts``: the bar that says what is going on
- ``side_by_side``: two films, and a third that shows both on one clock; ``trace``: the hand's track
  in a picture; ``encoder``: H.264
- ``compare_figure``, ``distribution_figure``, ``figures``: the plots of ``galley compare``
- ``scene_picture``, ``label_layout``: a labelled picture of a scene
- ``labels``: draws the labels on the kitchen's boxes

Nothing is imported here: pydrake, PyBullet and imageio load with the module that needs them.
"""
