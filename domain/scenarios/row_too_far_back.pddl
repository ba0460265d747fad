; The soup stands at the back, behind the beans and the corn.
(define (problem row_too_far_back)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    niche right_end - surface
    soup beans corn - objective
    h1 - hand)

  (:init
    (near center)
    (on soup niche)
    (on beans niche)
    (on corn niche)
    (empty h1))

  (:goal (and (on soup right_end) (on beans niche) (on corn niche)))
)
