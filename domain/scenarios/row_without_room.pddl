; The soup goes to the saucer; the beans stand before it.
(define (problem row_without_room)
  (:domain drawers)

  (:objects
    center - furniture
    niche saucer - surface
    soup beans - objective
    h1 - hand)

  (:init
    (near center)
    (on soup niche)
    (on beans niche)
    (empty h1))

  (:goal (on soup saucer))
)
