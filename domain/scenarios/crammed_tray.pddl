; Three cubes and the spam onto one tray.
(define (problem crammed_tray)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    tray right_end - surface
    spam c1 c2 c3 - objective
    h1 - hand)

  (:init
    (near center)
    (on spam burner)
    (on c1 right_end)
    (on c2 right_end)
    (on c3 right_end)
    (empty h1))

  (:goal (and (on spam tray) (on c1 tray) (on c2 tray) (on c3 tray)))
)
