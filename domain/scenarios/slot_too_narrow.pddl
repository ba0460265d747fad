; The soup stands in a narrow place.
(define (problem slot_too_narrow)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    slot right_end - surface
    soup - objective
    h1 - hand)

  (:init
    (near center)
    (on soup slot)
    (empty h1))

  (:goal (on soup right_end))
)
