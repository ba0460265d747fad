; The soup comes out of the shaft, and the corn goes in.
(define (problem shaft_exchange)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    shaft right_end - surface
    soup corn - objective
    h1 - hand)

  (:init
    (near center)
    (on soup shaft)
    (on corn burner)
    (empty h1))

  (:goal (and (on soup right_end) (on corn shaft)))
)
