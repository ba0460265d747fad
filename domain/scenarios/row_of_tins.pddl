; The soup stands at the back, behind the beans and the corn.
(define (problem row_of_tins)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    niche left_counter right_end - surface
    soup beans corn - objective
    h1 - hand)

  (:init
    (near center)
    (on soup niche)
    (on beans niche)
    (on corn niche)
    (empty h1))

  (:goal (and (on soup left_counter) (on beans niche) (on corn niche)))
)
