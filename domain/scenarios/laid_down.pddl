; The sugar goes into the drawer, which is too low for it upright.
(define (problem laid_down)
  (:domain kitchen)

  (:objects
    burner drawer center - furniture
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (inside sugar drawer))
)
