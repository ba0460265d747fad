; One item to the far end of each counter: no base pose reaches both.
(define (problem two_ends)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    left_end right_end - surface
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (and
    (on sugar right_end)
    (on spam left_end)))
)
