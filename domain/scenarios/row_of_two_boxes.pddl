; The soup stands behind the beans.
(define (problem row_of_two_boxes)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    niche countertop - surface
    soup beans - objective
    h1 - hand)

  (:init
    (near center)
    (on soup niche)
    (on beans niche)
    (empty h1))

  (:goal (and (on soup burner) (on beans niche)))
)
