; Both boxes stand on the burner: the sugar goes to the countertop, the spam into the drawer.
(define (problem task)
  (:domain kitchen)

  (:objects
    countertop burner drawer center - furniture
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (and
    (on sugar countertop)
    (inside spam drawer)))
)
