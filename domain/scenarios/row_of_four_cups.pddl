; The soup stands at the back, behind three other cups.
(define (problem row_of_four_cups)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    niche right_end - surface
    soup beans corn peas - objective
    h1 - hand)

  (:init
    (near center)
    (on soup niche)
    (on beans niche)
    (on corn niche)
    (on peas niche)
    (empty h1))

  (:goal (and (on soup right_end) (on beans niche) (on corn niche) (on peas niche)))
)
