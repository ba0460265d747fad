; A mobile arm in a kitchen whose drawers are opened and closed by actions of their own.
;
; Beside kitchen.pddl: there a drawer is closed before and after every action, here it has a
; state. What stands in an open drawer can be taken out, and several things can be put in before
; it is closed. Things get cooked on a stove and washed in a sink, which is a matter of symbols: no
; motion belongs to it, but the thing must stand there.
;
; Where things are is said relative to furniture, which never moves. Sizes are geometry: the scene
; knows whether a thing fits into a drawer, whether a drawer's way is free, and how many things a
; surface holds; what it rules out is refused there, or planned around.
;
; Written in the part of PDDL that PDDLGym 0.0.7 reads too: each parameter with its own type, each
; action with parameters and a precondition, no dashes in names.
(define (domain drawers)
  (:requirements :strips :typing :negative-preconditions)

  (:types
    furniture           ; what the base can stand at
    objective           ; what can be carried
    hand
      - object
    surface             ; furniture that things stand on
    drawer              ; furniture that things lie in
      - furniture
    stove               ; where things get cooked
    sink                ; where things get clean
      - surface)

  (:predicates
    (near ?r - furniture)                   ; the base stands where the arm reaches ?r
    (grasp ?r - objective)                  ; ?r is in a hand
    (on ?obj - objective ?top - surface)
    (in ?obj - objective ?d - drawer)       ; whether the drawer is open or closed
    (opened ?d - drawer)                    ; at least far enough to reach in; else it is closed
    (empty ?h - hand)
    (holds ?h - hand ?obj - objective)      ; which hand, so that it is the one that opens
    (cooked ?obj - objective)
    (clean ?obj - objective))

  ; The base leaves one place for another. As it is near one piece of furniture at a time,
  ; (not (near ?to)) says that the two differ.
  (:action navigate
    :parameters (?from - furniture ?to - furniture)
    :precondition (and (near ?from) (not (near ?to)))
    :effect (and (near ?to) (not (near ?from))))

  ; An empty hand lifts an item off a surface; with one hand, one item at a time.
  (:action pick
    :parameters (?obj - objective ?top - surface ?h - hand)
    :precondition (and (near ?top) (on ?obj ?top) (empty ?h))
    :effect (and (grasp ?obj) (holds ?h ?obj) (not (on ?obj ?top)) (not (empty ?h))))

  ; The hand sets its item down on a surface.
  (:action place
    :parameters (?obj - objective ?top - surface ?h - hand)
    :precondition (and (near ?top) (grasp ?obj) (holds ?h ?obj))
    :effect (and (on ?obj ?top) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))

  ; An empty hand pulls the drawer open by its handle, and lets go.
  (:action open
    :parameters (?d - drawer ?h - hand)
    :precondition (and (near ?d) (empty ?h) (not (opened ?d)))
    :effect (opened ?d))

  ; An empty hand pushes the drawer shut by its handle.
  (:action close
    :parameters (?d - drawer ?h - hand)
    :precondition (and (near ?d) (empty ?h) (opened ?d))
    :effect (not (opened ?d)))

  ; An empty hand lifts an item out of an open drawer.
  (:action take_out
    :parameters (?obj - objective ?d - drawer ?h - hand)
    :precondition (and (near ?d) (opened ?d) (in ?obj ?d) (empty ?h))
    :effect (and (grasp ?obj) (holds ?h ?obj) (not (in ?obj ?d)) (not (empty ?h))))

  ; The hand sets its item down in an open drawer, which stays open.
  (:action put_in
    :parameters (?obj - objective ?d - drawer ?h - hand)
    :precondition (and (near ?d) (opened ?d) (grasp ?obj) (holds ?h ?obj))
    :effect (and (in ?obj ?d) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))

  ; The same into a closed drawer, which is closed again afterwards. Opening and closing it, and
  ; setting the item aside meanwhile, are this action's own business: its motions restore all else.
  (:action stow
    :parameters (?obj - objective ?d - drawer ?h - hand)
    :precondition (and (near ?d) (not (opened ?d)) (grasp ?obj) (holds ?h ?obj))
    :effect (and (in ?obj ?d) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))

  ; What stands on the stove gets cooked while the robot attends to it.
  (:action cook
    :parameters (?obj - objective ?s - stove)
    :precondition (and (near ?s) (on ?obj ?s))
    :effect (cooked ?obj))

  ; What stands in the sink gets washed; a sink is a surface, its floor.
  (:action wash
    :parameters (?obj - objective ?s - sink)
    :precondition (and (near ?s) (on ?obj ?s))
    :effect (clean ?obj))
)
