; Everything at once: the spam belongs on its mark, which a tray covers that no hand can take, and the
; sugar into the drawer, which is too low for it upright; the mustard stands before it.
(define (problem flagship)
  (:domain pushing)

  (:objects
    center - furniture
    drawer - drawer
    burner - stove
    countertop mark shelf - surface
    sugar spam mustard tray - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar shelf)
    (on mustard shelf)
    (on spam burner)
    (on tray countertop)
    (empty h1))

  (:goal (and (on spam mark) (in sugar drawer)))
)
