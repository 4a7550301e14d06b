-------------------------------- MODULE Deferral -------------------------------
(***************************************************************************)
(* Messages that are deferred, and received by number (RCV-10).             *)
(*                                                                          *)
(* The holder of a lock defers its message: it stays in its partition with  *)
(* its number, peeks see it, and no receive returns it.  Who names its      *)
(* number is given it under a new lock, and when that ends, other than by   *)
(* completing or dead-lettering, it is deferred again.                      *)
(*                                                                          *)
(* at of a deferred message, besides those of PartitionLog:                 *)
(*   deferred   no lock holds it                                            *)
(* A locked one is told by msg[m].aside.  What becomes of a message when it *)
(* is deferred, and at a commit, say Delivery and Transactions.             *)
(*                                                                          *)
(* It has actions of its own and a DeferralNext that adds them to those of  *)
(* DeadLetters.  No variable is added.                                      *)
(***************************************************************************)
EXTENDS DeadLetters

\* --- Deferring. -----------------------------------------------------------
Defer(c, m, t) ==
    /\ Offers("defer")
    /\ HeldBy(c, m, t)
    /\ Serves(msg[m].part)
    /\ \E r \in AfterDeferral(m) :
        /\ msg' = [ msg EXCEPT ![m] = r ]
        /\ Record(Buried(DeferSeen(history, m, t), m, r.at = "dead"),
                  [ Said("defer", c, m, "ok") EXCEPT !.turn = t ])
    /\ txn' = DoomedBy(m)
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

DeferRejected(c, m, t) ==
    /\ Offers("defer")
    /\ running
    /\ RejectedByLock("defer", c, m, t)

DeferFails(c, m, t) == Offers("defer") /\ SettlingFails("defer", c, m, t)

\* In the transaction it is a settlement as any other: it takes effect at the commit.
TxnDefer(c, m, t) == Offers("defer") /\ TxnSettles("txn defer", c, m, t, TRUE)
TxnDeferInvalid(c, m, t) == Offers("defer") /\ TxnSettlingInvalid("txn defer", c, m, t)
TxnDeferRejected(c, m, t) == Offers("defer") /\ TxnSettlingRejected("txn defer", c, m, t)
TxnDeferFails(c, m, t) == Offers("defer") /\ TxnSettlingFails("txn defer", c, m, t)

(***************************************************************************)
(* Receiving by number: a call names the messages ms.  It joins no          *)
(* transaction.                                                             *)
(***************************************************************************)

\* What a call may name: one number or two.
Calls == { ms \in SUBSET Messages : Cardinality(ms) \in 1 .. 2 }
MayName(ms) == Offers("defer") /\ \A m \in ms : msg[m].num # NoNumber

\* RCV-10: "one call may not name numbers of different partitions".
Together(ms) == Partitioned => \A m, n \in ms : msg[m].part = msg[n].part

\* RCV-10: it is deferred, and no lock holds it, or a fault ended the lock that did.
MayTakeAside(m) == \/ msg[m].at = "deferred" /\ Serves(msg[m].part)
                   \/ msg[m].aside /\ MayTurnOutLost(m)
CountsAside(m) ==
    { n \in IF InDoubt(m) THEN LostCounts(m) ELSE { msg[m].count } : MayBeGiven(n) }

\* @type: ($history, Int) => $history;
TakenSeen(h, m) == LockSeen(DeliverySeen(h, m), m, msg'[m].turn)
\* @type: ($history, Set(Int)) => $history;
AllTakenSeen(h, ms) ==
    LET m == CHOOSE x \in ms : TRUE
        rest == ms \ {m}
    IN IF rest = {} THEN TakenSeen(h, m)
       ELSE TakenSeen(TakenSeen(h, m), CHOOSE x \in rest : TRUE)

\* Client c is given the messages got; RCV-5 MAY: fewer than were named.
ReceiveDeferred(c, ms, got) ==
    /\ MayName(ms) /\ Together(ms)
    /\ running
    /\ got \subseteq ms
    /\ \A m \in got : MayTakeAside(m) /\ Alive(m)
    /\ \E n \in [ Messages -> 0 .. MaxTries ] :
        /\ \A m \in Messages : IF m \in got THEN n[m] \in CountsAside(m) ELSE n[m] = 0
        /\ msg' = [ m \in Messages |-> IF m \in got THEN LockedFor(m, c, n[m]) ELSE msg[m] ]
        /\ Record(AllTakenSeen(history, got),
                  [ NoAnswer EXCEPT !.op = "receive deferred", !.by = c, !.ms = got,
                        !.named = ms, !.out = "ok", !.counts = n ])
    /\ txn' = [ txn EXCEPT !.doomed = @ \/ \E m \in got : msg[m].settling ]
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

CallSaid(c, ms, out) ==
    [ NoAnswer EXCEPT !.op = "receive deferred", !.by = c, !.named = ms, !.out = out ]
CallInVain(c, ms, out) == UNCHANGED mechanism /\ Record(history, CallSaid(c, ms, out))

\* RCV-5 MAY: nothing, though it is there.
ReceiveDeferredNothing(c, ms) ==
    /\ MayName(ms) /\ Together(ms)
    /\ running
    /\ CallInVain(c, ms, "nothing")

ReceiveDeferredInvalid(c, ms) ==
    /\ MayName(ms) /\ ~Together(ms)
    /\ running
    /\ CallInVain(c, ms, "invalid")

\* One of the numbers is no deferred message's, or that is locked, or its time to live
\* ended: the whole call may be refused.
MayRefuseNumber(m) == ~(msg[m].at = "deferred" /\ Alive(m))
ReceiveDeferredRejected(c, ms) ==
    /\ MayName(ms)
    /\ running
    /\ \E m \in ms : MayRefuseNumber(m)
    /\ CallInVain(c, ms, "not found")

ReceiveDeferredFails(c, ms) ==
    /\ MayName(ms)
    /\ MayBeBusy \/ \E m \in ms : ~Serves(msg[m].part)
    /\ CallInVain(c, ms, "refused")

\* --- All of it. -----------------------------------------------------------
DeferralNext ==
    \/ DeadLettersNext
    \/ \E c \in Clients, m \in Messages, t \in Turns : Defer(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : DeferRejected(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : DeferFails(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : TxnDefer(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : TxnDeferInvalid(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : TxnDeferRejected(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : TxnDeferFails(c, m, t)
    \/ \E c \in Clients, ms \in Calls, got \in Calls : ReceiveDeferred(c, ms, got)
    \/ \E c \in Clients, ms \in Calls : ReceiveDeferredNothing(c, ms)
    \/ \E c \in Clients, ms \in Calls : ReceiveDeferredInvalid(c, ms)
    \/ \E c \in Clients, ms \in Calls : ReceiveDeferredRejected(c, ms)
    \/ \E c \in Clients, ms \in Calls : ReceiveDeferredFails(c, ms)
================================================================================
