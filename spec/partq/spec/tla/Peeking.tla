--------------------------------- MODULE Peeking -------------------------------
(***************************************************************************)
(* Browsing.  A client's cursor stands, in each partition by itself, after  *)
(* the greatest number that its peeks returned (reading "Peeking").         *)
(***************************************************************************)
EXTENDS Transactions

VARIABLES
    \* The last number returned, or NoNumber.
    \* @type: Str -> (Int -> Int);
    cursor,
    \* A fault may have put the cursor back to the start; the client's next
    \* peek finds out.
    \* @type: Str -> Bool;
    mislaid

peekVars == << cursor, mislaid >>

AtStart == [ p \in Partitions |-> NoNumber ]

PeekingInit == /\ cursor = [ c \in Clients |-> AtStart ]
               /\ mislaid = [ c \in Clients |-> FALSE ]

\* The cursors that client c's next peek may go by.
CursorsOf(c) == { cursor[c] } \cup (IF mislaid[c] THEN { AtStart } ELSE {})

\* The number by which peeks find m.
Num(m) == msg[m].num

\* PEEK-7: active, locked, deferred and scheduled messages are visible.
\* @type: (Int, Int, Int -> Int) => Bool;
Beyond(m, p, from) == /\ Visible(m) \/ Fades(m)
                      /\ msg[m].part = p
                      /\ IF from[p] = NoNumber THEN TRUE ELSE Before(from[p], Num(m))

\* What is over, and nobody holds, a peek may show or leave out (reading "Expiry"), and
\* what a commit removed.
MayLeaveOut(m) == (~Alive(m) /\ msg[m].at # "locked") \/ Fades(m)

\* PEEK-2: "within one answer and one partition no live, older, visible message
\* is skipped".  PEEK-4: at most the number asked; fewer is allowed.
\* @type: (Set(Int), Int, Int -> Int) => Bool;
OldestOf(ms, p, from) ==
    /\ \A m \in ms : Beyond(m, p, from)
    /\ \A m \in ms : \A n \in Messages :
          Beyond(n, p, from) /\ Before(Num(n), Num(m)) => n \in ms \/ MayLeaveOut(n)

\* PEEK-4: "none although messages match is a violation".
\* @type: (Int -> Int) => Bool;
NothingBeyond(from) ==
    \A p \in Partitions : Serves(p) => \A m \in Messages : ~Beyond(m, p, from) \/ MayLeaveOut(m)

LastOf(ms) == CHOOSE m \in ms :
    \A n \in ms : n # m => Before(Num(n), Num(m))

\* What a commit removed or deferred, and a peek of the partitions ps, which shows ms of them,
\* and of these some as deferred, finds so: from now on no peek shows it as before.
\* @type: (Set(Int), Set(Int), Set(Int), Int -> Int) => Set(Int);
FoundGone(ms, deferred, ps, from) ==
    { m \in Messages :
        \/ /\ Fades(m) /\ m \notin ms /\ \E p \in ps : Beyond(m, p, from)
           /\ ms = {} \/ Before(Num(m), Num(LastOf(ms)))
        \/ msg[m].fading /\ Visible(m) /\ m \in deferred }

\* @type: (Str, Int -> Int, Int, Set(Int)) => Str -> (Int -> Int);
MovedOn(c, from, p, ms) ==
    [ cursor EXCEPT ![c] = [ from EXCEPT ![p] = Num(LastOf(ms)) ] ]

\* After a fault that hits everybody.  "Which clients a front end served is not
\* known: any cursor may be reset by its loss" (reading "Locks").
AllMislaid == [ c \in Clients |-> mislaid[c] \/ cursor[c] # AtStart ]
================================================================================
