----------------------------------- MODULE MC ----------------------------------
(***************************************************************************)
(* For TLC: key functions and other constants that a .cfg file can't write. *)
(* Bounds are in the MC*.cfg files, one for each question.                  *)
(***************************************************************************)
EXTENDS DuplicatesChecked, Bugs, Reach, Inductive

\* Keys of messages 1, 2, 3, 4: a letter for a key, K for keyless.
KeysAA == [ m \in Messages |-> "a" ]
KeysK  == [ m \in Messages |-> NoKey ]
KeysAB == [ m \in Messages |-> IF m % 2 = 1 THEN "a" ELSE "b" ]
KeysAK == [ m \in Messages |-> IF m % 2 = 1 THEN "a" ELSE NoKey ]
KeysAAK == [ m \in Messages |-> IF m <= 2 THEN "a" ELSE NoKey ]
KeysAKA == [ m \in Messages |-> IF m = 2 THEN NoKey ELSE "a" ]
KeysABA == [ m \in Messages |-> IF m = 2 THEN "b" ELSE "a" ]
KeysKAA == [ m \in Messages |-> IF m = 1 THEN NoKey ELSE "a" ]

\* What a SYMMETRY may exchange: no client differs from another.  (In the form that TLC
\* takes; it exchanges model values alone.)
Interchangeable ==
    { [ c \in Clients |-> other[c] ] : other \in
        { f \in [ Clients -> Clients ] : \A c, d \in Clients : c # d => f[c] # f[d] } }

\* Which messages are scheduled, or bear a time to live.
First == {1}
Second == {2}
Third == {3}
FirstTwo == {1, 2}
================================================================================
