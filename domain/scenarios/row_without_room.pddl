; The soup goes to the saucer; the beans and the corn stand before it.
(define (problem row_without_room)
  (:domain drawers)

  (:objects
    center - furniture
    niche saucer - surface
    soup beans corn - objective
    h1 - hand)

  (:init
    (near center)
    (on soup niche)
    (on beans niche)
    (on corn niche)
    (empty h1))

  (:goal (on soup saucer))
)
