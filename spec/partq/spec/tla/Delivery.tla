-------------------------------- MODULE Delivery -------------------------------
(***************************************************************************)
(* Locks, settlement, redelivery, the delivery limit, and front ends that   *)
(* fetch early.                                                             *)
(*                                                                          *)
(* Here are guards and the records that a message may become; the actions   *)
(* are composed of them in PartitionedQueue.                                *)
(***************************************************************************)
EXTENDS Routing

(***************************************************************************)
(* Order.  RCV-3: "first deliveries from one partition follow its sequence  *)
(* numbers; a later message overtakes only one that is locked, deferred or  *)
(* scheduled.  Redelivery position is free."  REB-3: what a flow that went  *)
(* had not acknowledged "goes back to its place".                           *)
(***************************************************************************)
InOrder(m) == \/ ~msg[m].placed
              \/ \A n \in Messages :
                    ~(msg[n].at = "ready" /\ msg[n].placed /\ Older(n, m))

\* RCV-15: no lock begins once the time to live ended.
Alive(m) == ~msg[m].over

\* A lock of m may begin now: for a client, or for a front end's cache.
MayLock(m) == /\ msg[m].at = "ready"
              /\ Serves(msg[m].part)
              /\ InOrder(m)
              /\ msg[m].count < MaxTries
              /\ Alive(m)

\* RCV-5, RCV-13: a front end fetched m, and its lock has been running since.
\* It may hand m out also while the partition is down (reading "Partition
\* faults": a front end may have it cached).
InCache(m) == msg[m].at = "cached"

(***************************************************************************)
(* Faults and locks (reading "Locks"): a fault may end a lock, with or      *)
(* without raising the count, or keep it.  Which of them is chosen when it  *)
(* is found out: the lock is accepted, or rejected, or the message is       *)
(* delivered again.  The lock of a cached message needs no doubt: a lock    *)
(* that was kept explains all that clients can see of one that was lost (it *)
(* is delivered later with the same count, and until then it hides nothing  *)
(* that a lost one would show).                                             *)
(***************************************************************************)
InDoubt(m) == msg[m].at = "locked" /\ msg[m].doubt # "no"
MayTurnOutLost(m) == InDoubt(m) /\ Serves(msg[m].part)
MayGiveAnew(m) == MayTurnOutLost(m) /\ InOrder(m) /\ Alive(m) /\ ~msg[m].aside

Raised(n) == IF CountsDeliveries THEN n + 1 ELSE n

\* The delivery counts with which a doubtful lock may turn out to have ended.
LostCounts(m) == IF msg[m].doubt = "fault"
                 THEN { msg[m].count, Raised(msg[m].count) }
                 ELSE { Raised(msg[m].count) }

\* ... and with which it may then be given to a client.  RCV-9: none is beyond the maximum.
MayBeGiven(n) == n < MaxTries /\ n <= MaxDeliveryCount
CountsAnew(m) == { n \in LostCounts(m) : MayBeGiven(n) }

\* RCV-6: m is locked for c alone.
LockedFor(m, c, n) == [ msg[m] EXCEPT !.at = "locked", !.by = c, !.count = n,
                          !.turn = TurnAfter(@), !.doubt = "no", !.settling = FALSE,
                          !.placed = IF HasFlows THEN @ ELSE FALSE ]
HandedOver(m, c) == [ msg[m] EXCEPT !.at = "locked", !.by = c,
                          !.placed = IF HasFlows THEN @ ELSE FALSE ]
Cached(m) == [ msg[m] EXCEPT !.at = "cached", !.turn = TurnAfter(@) ]

\* Where a message is that no lock holds any more: RCV-10, set aside again.
WithoutLock(m) == IF msg[m].aside THEN "deferred" ELSE "ready"

GivenBack(m, n, placed) ==
    [ msg[m] EXCEPT !.at = WithoutLock(m), !.by = NoClient, !.count = n,
                    !.placed = placed, !.doubt = "no", !.settling = FALSE ]

\* RCV-9: "moves to the dead-letter queue with its reason".
Dead(m, why) == [ Empty("dead") EXCEPT !.reason = why, !.over = msg[m].over ]

\* What becomes of m when a lock of it ends with delivery count n.  RCV-9:
\* beyond the maximum it is dead-lettered; "beyond" is read both ways, so at
\* the maximum either may happen.
AfterLock(m, n, placed) ==
    (IF n <= MaxDeliveryCount THEN { GivenBack(m, n, placed) } ELSE {})
        \cup (IF n >= MaxDeliveryCount THEN { Dead(m, "limit") } ELSE {})

\* RCV-10, SEQ-6: the holder defers m, which keeps its number.  Whether that counts as
\* a delivery no source settles (reading "Deferral").
SetAside(m, n) == [ msg[m] EXCEPT !.at = "deferred", !.aside = TRUE, !.by = NoClient,
                        !.count = n, !.doubt = "no", !.settling = FALSE ]
AfterDeferral(m) ==
    LET n == Raised(msg[m].count) IN
    { SetAside(m, msg[m].count) }
        \cup (IF n <= MaxDeliveryCount THEN { SetAside(m, n) } ELSE {})
        \cup (IF n >= MaxDeliveryCount THEN { Dead(m, "limit") } ELSE {})

\* The lock of turn t is the one that m is held by.  In the azure profiles any
\* client may use a lock (reading "Locks"); with flows only the one that got it.
HeldBy(c, m, t) == /\ msg[m].at = "locked"
                   /\ msg[m].turn = t
                   /\ msg[m].by = c \/ Offers("shared locks")

\* The open transaction settles m by that lock.  Whether it settles once more
\* before the end, outside or in it, no source says: either verdict.
Enlists(m) == msg[m].settling

\* RCV-7: a completed message is gone for good.  (Of m nothing is needed: Bugs puts
\* another operator in its place.)
Settled(m) == Empty("done")

\* RCV-8: a settlement by a lock that ended, or was never given, is rejected.
NotHeld(m, t) == ~(msg[m].at \in { "locked", "dead locked" } /\ msg[m].turn = t)

\* RCV-9, RCV-6: the lock's time is over, seen by a client or in a cache.  Where the open
\* transaction settles by it, it may hold all the same, or (once that is in doubt) be found
\* lost: delivered again, or here.
Expirable(m) == LocksExpire /\ msg[m].at \in { "cached", "locked" }
Expired(m) ==
    LET ways == UNION { AfterLock(m, n, FALSE) :
                    n \in IF InDoubt(m) THEN LostCounts(m) ELSE { Raised(msg[m].count) } }
    IN IF ~msg[m].settling THEN ways
       ELSE IF InDoubt(m) THEN { r \in ways : r.at = "dead" }
       ELSE { [ msg[m] EXCEPT !.doubt = "expiry" ] }

\* After a fault that strikes the partitions `ps` their locks are in doubt.
AfterFault(ps) ==
    [ m \in Messages |->
        IF msg[m].at = "locked" /\ msg[m].part \in ps /\ msg[m].doubt = "no"
        THEN [ msg[m] EXCEPT !.doubt = "fault" ] ELSE msg[m] ]
================================================================================
