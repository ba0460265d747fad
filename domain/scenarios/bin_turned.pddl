; The spam goes to the countertop.
(define (problem bin_turned)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop - surface
    spam - objective
    h1 - hand)

  (:init
    (near center)
    (on spam burner)
    (empty h1))

  (:goal (on spam countertop))
)
