------------------------------ MODULE DeadLetters ------------------------------
(***************************************************************************)
(* The dead-letter queue, as an entity of its own (RCV-9): what is in it is *)
(* received with a lock, peeked and settled, and each answer tells the      *)
(* reason.  A message moves there beyond the maximum delivery count (that   *)
(* says AfterLock in Delivery), or because the client that holds it says    *)
(* so.  It never comes back to the queue that it was in.                    *)
(*                                                                          *)
(* at of a message in it, besides those of PartitionLog:                    *)
(*   dead          nobody holds it                                          *)
(*   dead locked   a client was given it                                    *)
(* Which number and which count it has there no source settles (SEQ-6 ?),   *)
(* nor in which order what is there is delivered: nothing is said of them.  *)
(*                                                                          *)
(* It has actions of its own and a DeadLettersNext that adds them to Next.  *)
(* No variable is added.                                                    *)
(***************************************************************************)
EXTENDS PartitionedQueue

\* --- A client that holds m says that it is dead. --------------------------

\* What it becomes: the reason is that its holder said so.
Dismissed(m) == Dead(m, "holder")

\* Neither an abandon nor an expiry, so it is not counted.
\* @type: ($history, Int, Int) => $history;
DismissalSeen(h, m, t) ==
    Buried([ LockOver(h, m, t) EXCEPT !.dismissed = @ \cup {m} ], m, TRUE)

DeadLetter(c, m, t) ==
    /\ Offers("dead letter")
    /\ HeldBy(c, m, t)
    /\ Serves(msg[m].part)
    /\ msg' = [ msg EXCEPT ![m] = Dismissed(m) ]
    /\ txn' = DoomedBy(m)
    /\ Record(DismissalSeen(history, m, t),
              [ Said("dead letter", c, m, "ok") EXCEPT !.turn = t ])
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

DeadLetterRejected(c, m, t) ==
    /\ Offers("dead letter")
    /\ running
    /\ RejectedByLock("dead letter", c, m, t)

DeadLetterFails(c, m, t) ==
    /\ Offers("dead letter")
    /\ SettlingFails("dead letter", c, m, t)

\* --- Clients of the dead-letter queue -------------------------------------
InDeadLetters(m) == msg[m].at \in { "dead", "dead locked" }

\* RCV-6: a lock may begin of what nobody holds.
MayLockDead(m) == msg[m].at = "dead"

\* The reasons that an answer tells of the messages ms.  (A name of its own, for Bugs.)
ReasonsOf(ms) == [ m \in Messages |-> IF m \in ms THEN msg[m].reason ELSE "-" ]

DeadSaid(op, c, ms) == [ NoAnswer EXCEPT !.op = op, !.by = c, !.ms = ms, !.out = "ok",
                            !.reasons = ReasonsOf(ms) ]

ReceiveDead(c, m) ==
    /\ Offers("dead letter")
    /\ running
    /\ MayLockDead(m)
    /\ msg' = [ msg EXCEPT ![m].at = "dead locked", ![m].by = c, ![m].turn = TurnAfter(@) ]
    /\ Record(LockSeen(history, m, msg'[m].turn),
              [ DeadSaid("receive dead", c, {m}) EXCEPT !.m = m ])
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

\* RCV-5 MAY: nothing, though there is something.
ReceiveDeadNothing(c) ==
    /\ Offers("dead letter")
    /\ running
    /\ Nothing("receive dead", c, 0, "nothing")

\* RCV-8: the client has a lock of it.
HoldsDead(c, m) == msg[m].at = "dead locked" /\ msg[m].by = c

\* RCV-7: completed, it is gone for good.
CompleteDead(c, m) ==
    /\ running
    /\ HoldsDead(c, m)
    /\ msg' = [ msg EXCEPT ![m] = Settled(m) ]
    /\ Record(Consumed(history, m), Said("complete dead", c, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

\* It stays in the dead-letter queue, however often it is received there.
DeadAgain(m) == Dead(m, msg[m].reason)

LockOfDeadEnds(m, op, c) ==
    /\ msg' = [ msg EXCEPT ![m] = DeadAgain(m) ]
    /\ Record(LockOver(history, m, msg[m].turn), Said(op, c, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

AbandonDead(c, m) ==
    /\ Offers("abandon")
    /\ running
    /\ HoldsDead(c, m)
    /\ LockOfDeadEnds(m, "abandon dead", c)

ExpireDead(m) ==
    /\ LocksExpire
    /\ msg[m].at = "dead locked"
    /\ LockOfDeadEnds(m, "expire dead", NoClient)

\* Some of what is there, held or not; PEEK-4: none only if nothing is there.
PeekDead(c, ms) ==
    /\ Offers("dead letter") /\ Offers("peek")
    /\ running
    /\ \A m \in ms : InDeadLetters(m)
    /\ UNCHANGED mechanism
    /\ Record(history, DeadSaid("peek dead", c, ms))

PeekDeadNothing(c) ==
    /\ Offers("dead letter") /\ Offers("peek")
    /\ running
    /\ \A m \in Messages : ~InDeadLetters(m)
    /\ Nothing("peek dead", c, 0, "nothing")

\* The environment received all that was in it, after every lock had ended.
DeadDrained ==
    /\ Offers("dead letter") /\ Offers("drain")
    /\ running /\ Down = {}
    /\ \A m \in Messages : ~InDeadLetters(m)
    /\ Nothing("dead drained", NoClient, 0, "ok")

\* --- All of it. -----------------------------------------------------------
DeadLettersNext ==
    \/ Next
    \/ \E c \in Clients, m \in Messages, t \in Turns : DeadLetter(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : DeadLetterRejected(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : DeadLetterFails(c, m, t)
    \/ \E c \in Clients, m \in Messages : ReceiveDead(c, m)
    \/ \E c \in Clients : ReceiveDeadNothing(c)
    \/ \E c \in Clients, m \in Messages : CompleteDead(c, m)
    \/ \E c \in Clients, m \in Messages : AbandonDead(c, m)
    \/ \E m \in Messages : ExpireDead(m)
    \/ \E c \in Clients, ms \in PeekAnswers : PeekDead(c, ms)
    \/ \E c \in Clients : PeekDeadNothing(c)
    \/ DeadDrained
================================================================================
