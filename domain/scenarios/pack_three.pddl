; Three items from three places onto one small tray.
(define (problem pack_three)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    tray right_end left_counter - surface
    sugar spam soup - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam left_counter)
    (on soup right_end)
    (empty h1))

  (:goal (and
    (on sugar tray)
    (on spam tray)
    (on soup tray)))
)
