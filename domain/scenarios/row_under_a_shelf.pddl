; The soup stands behind the beans.
(define (problem row_under_a_shelf)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    niche right_end - surface
    soup beans - objective
    h1 - hand)

  (:init
    (near center)
    (on soup niche)
    (on beans niche)
    (empty h1))

  (:goal (and (on soup right_end) (on beans niche)))
)
