; The soup goes to the stove; four cans stand close round it.
(define (problem five_cans)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop right_end - surface
    soup corn beans peas plums - objective
    h1 - hand)

  (:init
    (near center)
    (on soup countertop)
    (on corn countertop)
    (on beans countertop)
    (on peas countertop)
    (on plums countertop)
    (empty h1))

  (:goal (on soup burner))
)
