------------------------------ MODULE PartitionLog -----------------------------
(***************************************************************************)
(* Messages, and the number that each gets in its partition.                *)
(*                                                                          *)
(* A message is a record, not an element of a sequence: its place in the    *)
(* partition is its number.  What is over (completed, refused) is put back  *)
(* to one canonical record, so that the state does not remember more than   *)
(* the broker does.                                                         *)
(***************************************************************************)
EXTENDS Faults

\* @typeAlias: message = {at: Str, part: Int, num: Int, by: Str, turn: Int, count: Int, placed: Bool, doubt: Str, settling: Bool, aside: Bool, over: Bool, fading: Bool, reason: Str};
PartitionLogTypes == TRUE

VARIABLES
    \* @type: Int -> $message;
    msg,
    \* The next number of each partition.
    \* @type: Int -> Int;
    counter

logVars == << msg, counter >>

(***************************************************************************)
(* at        unsent, refused (the send failed: nothing is stored), dropped  *)
(*           (a duplicate),                                                 *)
(*           pending (sent in the open transaction), lagging (committed,    *)
(*           not yet visible), ready, cached (a front end fetched it and    *)
(*           no client was given it), locked, deferred, done, dead          *)
(*           (dead-lettered), dead locked (received from there);            *)
(*           scheduled, due, racing, activated: see Scheduling; unborn: the *)
(*           activation of a message that was not activated                 *)
(* part, num where it is stored, and its number there                       *)
(* by, turn  who was given its lock, and which of its locks that is         *)
(* count     the delivery count: locks that ended by abandon or expiry, and *)
(*           those that a fault ended and that were counted                 *)
(* placed    it stands where its number says; FALSE: a lock gave it back,   *)
(*           and its position is free (RCV-3)                               *)
(* doubt     no, fault (a fault may have ended the lock; found out later),  *)
(*           expiry (its time is over, but a transaction settles it)        *)
(* settling  the open transaction completes it, or defers it (txn.defers)   *)
(* aside     it was deferred: so it is again when no lock holds it (RCV-10)  *)
(* over      its time to live has ended (RCV-15)                            *)
(* fading    a commit removed or deferred it, and peeks may show it as it   *)
(*           was (TXN-5): until one does not, or a client was shown what    *)
(*           the transaction sent                                           *)
(* reason    why it is dead-lettered: limit, holder, time (RCV-9)           *)
(***************************************************************************)
\* @type: (Str) => $message;
Empty(at) == [ at |-> at, part |-> NoPartition, num |-> NoNumber,
               by |-> NoClient, turn |-> BeforeFirstTurn, count |-> 0,
               placed |-> TRUE, doubt |-> "no", settling |-> FALSE,
               aside |-> FALSE, over |-> FALSE, fading |-> FALSE, reason |-> "-" ]

LogInit == /\ msg = [m \in Messages |->
                        Empty(IF m \in Activations THEN "unborn" ELSE "unsent")]
           /\ counter = [p \in Partitions |-> FirstNumber]

\* The producer sends its messages in order; a refused one is not sent again.
MaySend(m) == /\ msg[m].at = "unsent"
              /\ \A n \in Messages : n < m => msg[n].at # "unsent"

\* DUP-1, DUP-2: a copy of m was stored, whatever became of it, and its window is not over.
\* @type: (Int) => Bool;
WasStored(n) == msg[n].at \notin { "unsent", "refused", "dropped" }
Repeats(m) == \E n \in Messages : IsCopy(n, m) /\ WasStored(n) /\ ~WindowIsOver(n, m)

\* A refused send stores nothing (KEY-3, KEY-7, ROUTE-5, ROUTE-8).
NotStored(m) == Empty("refused")

Visible(m) == msg[m].at \in { "ready", "cached", "locked", "deferred", "scheduled", "due" }
Stored(m) == Visible(m) \/ msg[m].at \in { "pending", "lagging" }

\* It is there no more, and a peek may show it all the same; and what it is without that.
Fades(m) == msg[m].fading /\ ~Visible(m)
Faded(m) == IF msg[m].at = "done" THEN Empty("done") ELSE [ msg[m] EXCEPT !.fading = FALSE ]

\* Where a message is that has become visible.
Arrival(m) == IF m \in Scheduled THEN "scheduled" ELSE "ready"

\* SEQ-1, SEQ-4, SEQ-5: each partition counts on by one, and begins at zero
\* again.  Where no number is ever shown the message's place in the order of
\* sends serves as its number.
NumberNow(p, m) == IF ShowsNumbers THEN counter[p] ELSE m
Advance(n) == (n + 1) % Modulus
AdvanceBy(n, steps) == (n + steps) % Modulus

\* The counters after one number of each of `ps` has been used up.
CountersAfter(ps) ==
    IF ShowsNumbers
    THEN [p \in Partitions |-> IF p \in ps THEN Advance(counter[p]) ELSE counter[p]]
    ELSE counter

\* SEQ-4 ?: a send that comes to nothing may use up a number.
WastedNumbers(ps) == SUBSET (IF May("gaps") /\ ShowsNumbers THEN ps ELSE {})

Older(m, n) == msg[m].part = msg[n].part /\ Before(msg[m].num, msg[n].num)
================================================================================
