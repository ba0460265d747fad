; The spam is washed, cooked and served; the sugar box only makes room for it.
(define (problem cook_and_wash)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    sink - sink
    plate - surface
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (and
    (clean sugar)
    (cooked spam)
    (on sugar plate)
    (on spam plate)))
)
