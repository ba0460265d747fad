"""Pictures of runs: film, scene pictures, camera work. Reads logs and scenes, changes nothing.

- ``video``: ``film`` makes an H.264 file of a log; ``film_crew``, ``film_job``, ``film_worker`` are
  those who draw it
- ``stills``: close-up pictures of the hand, a sheet for each contact of a run
- ``renderer``: the choice of a renderer that works here; ``picture``: what each does;
  ``raster_renderer`` (ours), ``vtk_renderer`` (Drake), ``tiny_renderer`` (PyBullet), ``vtk_probe``,
  ``changed_window``
- ``raster_kernel``: the rasteriser's compiled code; ``scene_meshes``, ``meshes``, ``obj_reader``:
  what it draws
- ``camera``: the virtual cameraman; ``shots``, ``sightlines``, ``view`` and ``links`` are what it
  works with
- ``frames``: a log resampled at the times of a film's pictures
- ``captions``: what is said about a run; ``caption_drawing``, ``fonts``: how it gets into pictures
- ``side_by_side``: two films, and a third that shows both on one clock; ``trace``: the hand's track
  in a picture; ``encoder``: H.264
- ``compare_figure``, ``distribution_figure``, ``figures``: the plots of ``galley compare``
- ``scene_picture``, ``label_layout``: a labelled picture of a scene
- ``labels``: draws the labels on the kitchen's boxes

Nothing is imported here: pydrake, PyBullet and imageio load with the module that needs them.
"""
