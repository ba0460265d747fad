; Three cubes and the spam onto one tray.
(define (problem crammed_tray)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    tray right_end - surface
    spam red green blue - objective
    h1 - hand)

  (:init
    (near center)
    (on spam burner)
    (on red right_end)
    (on green right_end)
    (on blue right_end)
    (empty h1))

  (:goal (and (on spam tray) (on red tray) (on green tray) (on blue tray)))
)
