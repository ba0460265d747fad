; Two cubes go to the tray, and the red one onto the mark, where the blue one lies.
(define (problem desk)
  (:domain drawers)
  (:objects
    left middle mark tray - surface
    red green blue - objective
    h1 - hand)
  (:init
    (near left) (near middle) (near mark) (near tray)
    (on red left) (on green left) (on blue middle) (on blue mark)
    (empty h1))
  (:goal (and (on red mark) (on green tray) (on blue tray))))
