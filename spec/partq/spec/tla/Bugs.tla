---------------------------------- MODULE Bugs ---------------------------------
(***************************************************************************)
(* Wrong brokers.  Each operator here is a wrong variant of the one that a  *)
(* Bug*.cfg puts it in the place of (`MayLock <- BugMayLock`), and each     *)
(* must give a counterexample of the property that its comment names.  The  *)
(* specification itself knows nothing of them.                              *)
(***************************************************************************)
EXTENDS Scheduling, Expiry

\* --- KEY, ROUTE ------------------------------------------------------------

\* Forgets which partition a key has (ROUTE-1, ROUTE-2, KEY-2, KEY-8, TXN-8, REB-18).
BugChoicesForgotten(m) == Partitions

\* Evades to another partition when that of the key is down (ROUTE-5).
BugChoicesEvasive(m) == IF Keyed(m) /\ home[KeyOf[m]] # NoPartition
                              /\ up[home[KeyOf[m]]]
                        THEN { home[KeyOf[m]] } ELSE Partitions

\* Does not try another partition for a keyless message (ROUTE-6).
BugBlockedKeyless(m) == \E p \in Partitions : BlockedAt(m, p)

\* One partition that is down stops all that is sent (ROUTE-7).
BugBlockedAtByAny(m, p) == Down # {}

\* Refuses the first send of each key, though nothing is down (ROUTE-7).
BugBlockedAtFirst(m, p) ==
    p \in Choices(m) /\ (~Serves(p) \/ (Keyed(m) /\ home[Key(m)] = NoPartition))

\* Accepts without storing safely: while partitions are down, too (ROUTE-8).
BugMayStoreAnywhere(m, p) == running /\ p \in Choices(m)

\* A refused message is stored all the same (RCV-1, RCV-12).
BugNotStored(m) == [ Empty("ready") EXCEPT !.part = 1, !.num = NumberNow(1, m) ]

\* A schedule operation is refused and takes effect all the same (RCV-1).
Keeps(op, m, out) ==
    /\ msg' = [ msg EXCEPT ![m] = [ Empty("scheduled") EXCEPT !.part = 1, !.num = NumberNow(1, m) ] ]
    /\ Record(history, Said(op, NoClient, m, out))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>
BugScheduleInvalidKept(m) == MayBeScheduled(m) /\ ~Valid(m) /\ Keeps("schedule", m, "invalid")
BugTxnScheduleInvalidKept(m) ==
    Open /\ MayBeScheduled(m) /\ ~MayJoin(m) /\ Keeps("txn schedule", m, "invalid")
BugScheduleBatchFailsKept(m) == MayScheduleBatch(m) /\ Down # {} /\ Keeps("schedule batch", m, "refused")

\* Takes messages with two different keys (KEY-3); a batch of several keys (KEY-7).
BugValid(m) == TRUE
BugOneKey(m) == TRUE

\* Stores the first message of a batch and forgets the other (RCV-2), or does so only while a
\* partition is down (RCV-2), or stores the other as active, whatever its time (SCH-1).
BugInBatchHalf(m) == IF m % 2 = 0 THEN "refused" ELSE Arrival(m)
BugInBatchHalfInOutage(m) == IF m % 2 = 0 /\ Down # {} THEN "refused" ELSE Arrival(m)
BugInBatchAtOnce(m) == IF m % 2 = 0 THEN "ready" ELSE Arrival(m)

\* Stores a batch where its first message may go, and looks at no other key (ROUTE-1).
BugSendBatchByTheFirst(m) ==
    /\ MaySendBatch(m)
    /\ OneKey(m)
    /\ \E p \in Partitions :
        LET n == m + 1
            second == AdvanceBy(NumberNow(p, n), 1)
            sent == SendSeen(SendSeen(history, m, "accepted", {}), n, "accepted", {})
        IN
        /\ MayStore(m, p)
        /\ msg' = [ msg EXCEPT
              ![m] = [ Empty("ready") EXCEPT !.part = p, !.num = NumberNow(p, m) ],
              ![n] = [ Empty("ready") EXCEPT !.part = p, !.num = second ] ]
        /\ counter' = [ counter EXCEPT ![p] = AdvanceBy(@, 2) ]
        /\ home' = HomeAfter(m, p)
        /\ Record(StoredAt(StoredAt([ sent EXCEPT !.before[n] = AcceptedIn(history) ],
                                    m, p, NumberNow(p, m)), n, p, second),
                  BatchSaid("batch", m, "ok"))
    /\ UNCHANGED << faultVars, txn, peekVars, flowVars >>

\* Refuses every batch as invalid (KEY-9).
BugMayRefuseKeys(m) == TRUE

\* --- SEQ -------------------------------------------------------------------

\* The counter stands still (SEQ-1).
BugAdvanceNot(n) == n

\* The top bits are those of the namespace, not of the partition (SEQ-2).
BugTagOf(p) == 7

\* Numbers are given from a block downwards (SEQ-3).
BugAdvanceDown(n) == (n + Modulus - 1) % Modulus

\* Leaves a number out each time (SEQ-4).
BugAdvanceByTwo(n) == (n + 2) % Modulus

\* Begins at 1 again, not at zero (SEQ-5).
BugAdvanceToOne(n) == IF n = Modulus - 1 THEN 1 ELSE n + 1

\* What was locked is appended anew (SEQ-6).
BugGivenBackAnew(m, n, placed) ==
    [ msg[m] EXCEPT !.at = "ready", !.by = NoClient, !.count = n, !.num = AdvanceBy(@, 4),
                    !.placed = placed, !.doubt = "no", !.settling = FALSE ]

\* What a commit numbers, or a batch, does not roll over (SEQ-5).
BugAdvanceByOn(n, steps) == n + steps

\* --- RCV -------------------------------------------------------------------

\* MayLock, but of a message in one of those states, over or not.
MayLockIn(m, states) ==
    msg[m].at \in states /\ Serves(msg[m].part) /\ InOrder(m) /\ msg[m].count < MaxTries

\* The message goes with the lock whose time is over (RCV-2).
BugExpiredForgotten(m) == { Empty("done") }

\* Never delivers out of the second partition (RCV-2: eventually).
BugMayLockFirst(m) == MayLockIn(m, { "ready" }) /\ msg[m].part = 1

\* Delivers in any order (RCV-3, REB-3).
BugInOrder(m) == TRUE

\* Keeps no order in a partition that is down, out of which it delivers all the same (RCV-12).
BugMayLockDown(m) == /\ msg[m].at = "ready" /\ running /\ Alive(m)
                     /\ up[msg[m].part] => InOrder(m)
                     /\ msg[m].count < MaxTries

\* Delivers what is locked (RCV-6, RCV-12).
BugMayLockHeld(m) == MayLockIn(m, { "ready", "locked" })

\* Completing is only giving back (RCV-7, RCV-12).
BugSettledNot(m) == GivenBack(m, msg[m].count, TRUE)

\* Any lock that the message ever had will do (RCV-8).
BugHeldByAny(c, m, t) == msg[m].at = "locked" /\ msg[m].by = c /\ ~msg[m].settling

\* A settlement by a former lock is answered as it has to be, and takes effect all the same: at
\* once (RCV-2, RCV-9, RCV-10), or with the transaction (RCV-2, RCV-10).
BugRejectedTakesEffect(op, c, m, t) ==
    /\ NotHeld(m, t) /\ Visible(m)
    /\ msg' = [ msg EXCEPT ![m] = IF op = "complete" THEN Settled(m)
                                  ELSE IF op = "abandon" THEN GivenBack(m, Raised(@.count), FALSE)
                                  ELSE IF op = "defer" THEN SetAside(m, @.count)
                                  ELSE Dismissed(m) ]
    /\ Record(history, [ Said(op, c, m, "lost") EXCEPT !.turn = t ])
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>
BugTxnRejectedTakesEffect(op, c, m, t) ==
    /\ Open /\ running
    /\ NotHeld(m, t) /\ Visible(m)
    /\ msg' = [ msg EXCEPT ![m].settling = TRUE ]
    /\ txn' = [ txn EXCEPT !.doubt = TRUE, !.defers = IF op = "txn defer" THEN @ \cup {m} ELSE @ ]
    /\ Record(history, [ Said(op, c, m, "lost") EXCEPT !.turn = t ])
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* All locks of a message have one token, so that a lost one settles (RCV-8).
BugTurnAfterFirst(t) == FirstTurn

\* Locks of flows expire (RCV-6).
BugExpirableAnyway(m) == msg[m].at = "locked" /\ msg[m].doubt = "no"

\* A flow settles by the lock of another (RCV-6).
BugHeldByAnyFlow(c, m, t) == msg[m].at = "locked" /\ msg[m].turn = t

\* A lock that ends does not count, or the fourth does not (RCV-9).
BugRaisedNot(n) == n
BugRaisedToThree(n) == IF n < 3 THEN n + 1 ELSE n

\* What a fault gave back is delivered though it was deferred (RCV-10), or is over (RCV-15), or
\* beyond the maximum (RCV-9).
BugMayGiveAnewAny(m) == MayTurnOutLost(m)
BugMayBeGivenBeyond(n) == n < MaxTries

\* A fault that ends a lock counts twice (RCV-9).
BugLostCountsTwice(m) == { msg[m].count + 2 }

\* Dead-letters one delivery too early (RCV-9).
BugAfterLockEarly(m, n, placed) ==
    IF n >= MaxDeliveryCount - 1 THEN { Dead(m, "limit") } ELSE { GivenBack(m, n, placed) }

\* Knows no maximum (RCV-9).
BugAfterLockAlwaysBack(m, n, placed) == { GivenBack(m, n, placed) }

\* --- the dead-letter queue (RCV-9) -------------------------------------------

\* A dead letter is answered ok, and stays in the queue, or is dropped (RCV-2).
BugDismissedNot(m) == GivenBack(m, msg[m].count, FALSE)
BugDismissedDropped(m) == Empty("done")

\* The reason is always the broker's (RCV-9).
BugReasonsOfBroker(ms) == [ m \in Messages |-> IF m \in ms THEN "limit" ELSE "-" ]

\* Every dead letter bears its holder's reason (RCV-9).
BugReasonsOfHolder(ms) == [ m \in Messages |-> IF m \in ms THEN "holder" ELSE "-" ]

\* What comes back to the dead-letter queue goes on to the queue that it came from (RCV-9).
BugDeadAgainInQueue(m) ==
    [ Empty("ready") EXCEPT !.part = history.place[m].part, !.num = history.place[m].num ]

\* Peeks of the dead-letter queue show, and receives from it deliver, what is not dead (RCV-9).
BugInDeadLettersAny(m) == msg[m].at \in { "ready", "dead", "dead locked" }
BugMayLockDeadAny(m) == msg[m].at \in { "ready", "dead" }

\* A kill empties the dead-letter queue (RCV-2).
BugAfterFaultNoDead(ps) ==
    [ m \in Messages |-> IF msg[m].at = "dead" THEN Empty("done") ELSE msg[m] ]

\* Delivers a dead letter that a client holds (RCV-6), or has completed (RCV-7).
BugMayLockDeadHeld(m) == InDeadLetters(m)
BugMayLockDeadDone(m) == msg[m].at \in { "dead", "done" } /\ m \in history.buried

\* Completes in the dead-letter queue for whoever asks, lock or not (RCV-8).
BugHoldsDeadAny(c, m) == InDeadLetters(m)

\* --- RCV-10 ------------------------------------------------------------------

\* Delivers what is deferred to anybody (RCV-10, RCV-12).
BugMayLockAside(m) == MayLockIn(m, { "ready", "deferred" })

\* To defer is to give back (RCV-10), or to complete (RCV-2), or gives a new number (SEQ-6).
BugAfterDeferralBack(m) == { GivenBack(m, msg[m].count, FALSE) }
BugAfterDeferralDone(m) == { Empty("done") }
BugAfterDeferralAnew(m) == { [ SetAside(m, msg[m].count) EXCEPT !.num = AdvanceBy(@, 4) ] }

\* The end of a lock ends the deferral (RCV-10), and so does a fault of the broker (RCV-10).
BugWithoutLock(m) == "ready"
BugAfterFaultBack(ps) ==
    [ m \in Messages |-> IF msg[m].at = "deferred"
                         THEN [ msg[m] EXCEPT !.at = "ready", !.aside = FALSE ] ELSE msg[m] ]

\* Takes numbers of several partitions in one call (RCV-10).
BugTogether(ms) == TRUE

\* Delivers by number what was never deferred (RCV-10), or what is locked (RCV-6).
BugMayTakeAny(m) == msg[m].at \in { "ready", "deferred" } /\ Serves(msg[m].part)
BugMayTakeHeld(m) == msg[m].aside /\ Serves(msg[m].part)

\* A message that is received by number has the lock that it had before (RCV-8).
BugLockedForSameTurn(m, c, n) ==
    [ msg[m] EXCEPT !.at = "locked", !.by = c, !.count = n, !.placed = FALSE, !.doubt = "no",
                    !.settling = FALSE, !.turn = IF msg[m].aside THEN @ ELSE TurnAfter(@) ]

\* Counts no lock of a deferred message (RCV-9).
BugCountsAside(m) == { 0 }

\* Refuses numbers of deferred messages (KEY-9).
BugMayRefuseAnyNumber(m) == TRUE

\* Peeks leave out what is deferred (PEEK-7) or scheduled (SCH-2), or show the former as active (PEEK-7).
BugVisibleActive(m) == msg[m].at \in { "ready", "cached", "locked" }
BugShownAsActive(ms) == { {} }

\* The commit completes what was deferred in the transaction (RCV-2), or gives it back (RCV-10).
BugCommittedAllDone(at) ==
    [ m \in Messages |-> IF msg[m].settling THEN Settled(m) ELSE msg[m] ]
BugCommittedBack(at) ==
    [ m \in Messages |-> IF msg[m].settling THEN GivenBack(m, msg[m].count, FALSE) ELSE msg[m] ]

\* What is deferred in a transaction is so at once (RCV-10).
BugTxnDefersAtOnce(c, m, t) ==
    /\ Open /\ Offers("defer")
    /\ HeldBy(c, m, t)
    /\ msg' = [ msg EXCEPT ![m] = SetAside(m, @.count) ]
    /\ Record([ history EXCEPT !.deal.settles = @ \cup {m}, !.deal.defers = @ \cup {m} ],
              [ Said("txn defer", c, m, "ok") EXCEPT !.turn = t ])
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

\* A rollback defers all the same (PEEK-7).
BugRolledBackMessageAside(m) ==
    IF msg[m].settling THEN { SetAside(m, msg[m].count) } ELSE { msg[m] }

\* --- RCV-15 ------------------------------------------------------------------

\* Delivers what is over, by number too (RCV-15).
BugAliveAlways(m) == TRUE
BugMayLockOver(m) == MayLockIn(m, { "ready" })

\* The end of a lock, or a fault, begins the time to live anew (RCV-15).
BugGivenBackAlive(m, n, placed) ==
    [ msg[m] EXCEPT !.at = "ready", !.by = NoClient, !.count = n, !.placed = placed,
                    !.doubt = "no", !.settling = FALSE, !.over = FALSE ]
BugAfterFaultAlive(ps) == [ m \in Messages |-> [ msg[m] EXCEPT !.over = FALSE ] ]

\* What is over goes though a client holds it (RCV-15), or can't be settled (RCV-15).
BugMayVanishHeld(m) == msg[m].over /\ msg[m].at \in { "ready", "deferred", "locked" }
BugNotHeldOver(m, t) == ~(msg[m].at = "locked" /\ msg[m].turn = t) \/ msg[m].over

\* A message goes before its time has ended (RCV-2).
BugMayVanishEarly(m) == msg[m].at \in { "ready", "deferred" }

\* A time to live counts in the dead-letter queue (RCV-15).
BugMayVanishDead(m) == msg[m].over /\ msg[m].at \in { "ready", "deferred", "dead" }

\* What a client holds is left out by peeks once it is over (PEEK-7).
BugMayLeaveOutHeld(m) == ~Alive(m)

\* Settles locks of two partitions in one request (RCV-14), or rejects it and settles one (RCV-2).
BugMaySettleBoth(m, n) == TRUE
BugCompleteBothHalf(c, m, n) ==
    /\ Both(c, m, n)
    /\ ~MaySettleBoth(m, n)
    /\ msg' = [ msg EXCEPT ![m] = Settled(m) ]
    /\ Record(history, BothSaid(c, m, n, "invalid"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

\* --- TXN -------------------------------------------------------------------

\* Takes keyless messages into a transaction (TXN-1).
BugHasKey(m) == TRUE

\* Takes a second key (TXN-2).
BugSameKey(m) == TRUE

\* What is sent in a transaction can be received at once (TXN-5: before commit).
BugEnlistedVisible(m, p) ==
    [ Empty("ready") EXCEPT !.part = p, !.num = NumberNow(p, m) ]

\* Commits the first message now and the others when it pleases (TXN-5: all).
BugCommittedInParts(at) ==
    [ m \in Messages |->
        IF msg[m].at = "pending"
        THEN [ msg[m] EXCEPT !.num = NumberAtCommit(m), !.at =
                  IF \A n \in Pending : n <= m THEN "ready" ELSE "lagging" ]
        ELSE IF msg[m].settling THEN Settled(m) ELSE msg[m] ]

\* The commit is ok, and what was sent is dropped (RCV-2).
BugCommittedDropped(at) ==
    [ m \in Messages |-> IF msg[m].at = "pending" THEN Empty("done")
                         ELSE IF msg[m].settling THEN Settled(m) ELSE msg[m] ]

\* Commits though a lock by which it settles was found lost (RCV-8).
BugDoomedByNot(m) == txn

\* Commits though the partition is down (ROUTE-5, ROUTE-8).
BugInvolvedNone == {}

\* Shows what was removed to one client after it did not to another, or beside what was sent
\* (TXN-5: all at once).
BugFoundGoneNever(ms, deferred, ps, from) == {}
BugAppearsGoneNot(m) == msg[m]

\* Delivers what peeks do not show yet (TXN-5: all at once).
BugMayLockLagging(m) == MayLockIn(m, { "ready", "lagging" })

\* Any partition that is down keeps the transaction from its commit (ROUTE-7).
BugInvolvedAll == IF Pending \cup Settling = {} THEN {} ELSE Partitions

\* Refuses commits and rollbacks though nothing is down (ROUTE-7), or the first settlement
\* in a transaction (ROUTE-7).
BugMayFailAlways == TRUE
BugTxnCompleteFailsFirst(c, m, t) ==
    /\ Open
    /\ HeldBy(c, m, t)
    /\ txn.part = NoPartition
    /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
    /\ Record(history, [ Said("txn complete", c, m, "refused") EXCEPT !.turn = t ])
    /\ UNCHANGED << faultVars, logVars, home, peekVars, flowVars >>

\* Refuses to roll back though nothing is down (ROUTE-7).
BugRollbackFailsAlways ==
    /\ Open
    /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
    /\ Record(history, Said("rollback", NoClient, 0, "refused"))
    /\ UNCHANGED << faultVars, logVars, home, peekVars, flowVars >>

\* Settles in a transaction while the partition is down (ROUTE-8: no partition is up).
BugTxnCompleteWhileDown(c, m, t) ==
    /\ Open
    /\ HeldBy(c, m, t)
    /\ msg' = [ msg EXCEPT ![m].settling = TRUE, ![m].doubt = "no" ]
    /\ txn' = [ txn EXCEPT !.part = msg[m].part ]
    /\ Record([ history EXCEPT !.deal.settles = @ \cup {m}, !.lock[m][t] = "held" ],
              [ Said("txn complete", c, m, "ok") EXCEPT !.turn = t ])
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* Commits the sends and forgets the settlements (TXN-5: all).
BugCommittedSendsOnly(at) ==
    [ m \in Messages |->
        IF msg[m].at = "pending"
        THEN [ msg[m] EXCEPT !.at = at, !.num = NumberAtCommit(m) ]
        ELSE [ msg[m] EXCEPT !.settling = FALSE ] ]

\* A rollback undoes the sends and ends the locks (TXN-5: the same lock still settles; RCV-6).
BugRolledBackMessage(m) ==
    IF msg[m].at = "pending" THEN { Empty("refused") }
    ELSE IF msg[m].settling THEN { [ msg[m] EXCEPT !.settling = FALSE, !.turn = TurnAfter(@) ] }
    ELSE { msg[m] }

\* A rollback gives back what was delivered too often (RCV-9).
BugRolledBackBeyond(m) ==
    { IF msg[m].settling /\ msg[m].doubt = "expiry" THEN GivenBack(m, Raised(msg[m].count), FALSE)
      ELSE [ msg[m] EXCEPT !.settling = FALSE ] }

\* Settles messages of two partitions in a transaction (TXN-7).
BugSamePartition(m) == TRUE

\* A transaction goes on after its end (TXN-10).
BugOpen == txn.state \in { "open", "committed" }

\* --- PEEK ------------------------------------------------------------------

\* Shows any messages beyond the cursor (PEEK-1, PEEK-2).
BugOldestOf(ms, p, from) == \A m \in ms : Beyond(m, p, from)

\* Gives up at once (PEEK-4), or before the walk's end (PEEK-5).
BugNothingBeyond(from) == TRUE

\* Shows everything again and again (PEEK-5).
BugMovedOn(c, from, p, ms) == cursor

\* A cursor that a fault resets stands at the end (PEEK-4).
BugAtStartTheEnd ==
    [ p \in Partitions |-> IF counter[p] = FirstNumber THEN NoNumber ELSE counter[p] - 1 ]

\* A peek counts as a delivery (PEEK-6).
BugAfterPeek(ms, gone) ==
    [ m \in Messages |-> IF m \in ms /\ msg[m].count < MaxTries
                         THEN [ msg[m] EXCEPT !.count = @ + 1 ] ELSE msg[m] ]

\* What is locked is not shown (PEEK-7).
BugVisible(m) == msg[m].at \in { "ready", "cached" }

\* --- SCH -------------------------------------------------------------------

\* Delivers what is scheduled, its number and all (SCH-1).
BugMayLockScheduled(m) == MayLockIn(m, { "ready", "scheduled" })

\* Activates in any partition what bears a key, or stores it there when its time is over (ROUTE-1).
BugPlacesForAny(m) == Partitions
BugPlacesForUp(m) == IF Serves(msg[m].part) THEN { msg[m].part } ELSE Partitions
BugMayStorePastAny(m, p) == Serves(p)

\* Activates before the time has come (SCH-1).
BugActivatableEarly(m) == msg[m].at \in { "scheduled", "due", "racing" }

\* Never activates, or not while any partition is down (SCH-1: eventually).
BugActivatableNever(m) == FALSE
BugActivatableAllUp(m) == msg[m].at \in { "due", "racing" } /\ Down = {}

\* The schedule operation returns no number (SCH-2), or not the one that peeks show (SCH-2).
BugNumberToldNone(h, op, m, p, n) == h
BugNumberToldNext(h, op, m, p, n) ==
    IF op \in ScheduleOps THEN NumberSeen(h, m, p, n + 1) ELSE h

\* No peek finds what is due (SCH-2).
BugVisibleUntilDue(m) == msg[m].at \in { "ready", "cached", "locked", "scheduled" }

\* Shows what is scheduled as if it were active (PEEK-7).
BugShownAsScheduledNever(ms) == {}

\* A cancel is answered ok and forgotten (SCH-3).
BugWithdrawnNot(m) == msg[m]

\* A cancel looks at the number within the partition, in whichever it is (RCV-2).
BugCancelAnyPartition(m) ==
    /\ MayBeCancelled(m) /\ IsScheduled(m)
    /\ msg' = [ n \in Messages |->
                IF IsScheduled(n) /\ msg[n].num = msg[m].num THEN Withdrawn(n) ELSE msg[n] ]
    /\ Record(DirectCancelSeen(history, m), Said("cancel", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

\* The message keeps its number when it is activated (SCH-4).
BugNumberForActivationKept(p, m) == msg[m].num

\* The old number still cancels (SCH-4).
BugIsScheduledStill(m) == msg[m].at \in { "scheduled", "due", "activated" }

\* The message is activated again and again (SCH-6).
BugAfterActivationAgain(m) == msg[m]

\* Rejects any cancel (KEY-9).
BugMayRejectAny(m) == TRUE

\* What is scheduled in a transaction is there at once (TXN-5).
BugEnlistedScheduled(m, p) == [ Empty("scheduled") EXCEPT !.part = p ]

\* A rollback cancels all the same (RCV-2).
BugRolledBackMessageCancelled(m) ==
    IF msg[m].at = "pending" THEN { Empty("refused") }
    ELSE IF msg[m].settling THEN { Settled(m) } ELSE { msg[m] }

\* --- REB -------------------------------------------------------------------

\* Sends, and settlements, are refused while a partition is handed off (ROUTE-7).
BugSendFailsInHandoff(m) ==
    /\ MaySend(m)
    /\ \E p \in Partitions : InHandoff(p)
    /\ UNCHANGED << counter, home >>
    /\ SendRefused("send", m, "refused")
BugSettlingFailsInHandoff(op, c, m, t) ==
    HeldBy(c, m, t) /\ InHandoff(msg[m].part) /\ Nothing(op, c, m, "refused")

\* The old flow keeps its partition (REB-1).
BugHandedOff(p) ==
    [ c \in Clients |-> IF duty[p][c] \in { "waiting", "paused" } THEN "ready" ELSE "none" ]

\* Every active flow is delivered everything (REB-2).
BugMayReceiveAll(c, p) == p # NoPartition /\ flow[c] = "active"

\* What a flow had not acknowledged goes to the end (REB-3).
BugMessagesWithout(c) ==
    [ m \in Messages |-> IF msg[m].at = "locked" /\ msg[m].by = c
                         THEN GivenBack(m, msg[m].count, FALSE) ELSE msg[m] ]

\* The partitions go to some of the flows only (REB-4, REB-10), or unevenly (REB-12).
BugEven(f) == TRUE

\* The flow is bound, and nothing comes of it (REB-4), or the bind of a standby ends the delay (REB-4).
BugDelayAtBindNever == delay
BugDelayAtBindOwn == BindsActive

\* The delay does not start when a flow goes (REB-7).
BugDelayWithoutNever(c, after) == { delay }

\* A takeover ends the delay (REB-4), or the start of a broker that kept its flows (REB-4).
BugDelayKeptNot == FALSE

\* A kill that ends the flows leaves standbys (REB-4).
BugFlowsAfterKill == [ c \in Clients |-> IF flow[c] = "standby" THEN "standby" ELSE "off" ]

\* A handoff never ends (REB-11: eventually).
BugInHandoffNever(p) == FALSE

\* There are no standbys (REB-5).
BugBindsActive == TRUE

\* The standby waits for a rebalance (REB-6).
BugDutyNoTakeover(p, c, s) ==
    IF duty[p][c] = "none" THEN { duty[p] } ELSE { [ duty[p] EXCEPT ![c] = "unbound" ] }

\* The standby leaves what was being handed off to a flow that has gone (REB-6).
BugHandedToNobody(p) == FALSE

\* Does not wait for the delay (REB-7).
BugDutyAtOnce(p, c, s) ==
    IF duty[p][c] = "none" THEN { duty[p] }
    ELSE { [ NoDuty EXCEPT ![d] = "ready" ] : d \in Active \ {c} }
         \cup (IF Active \subseteq {c} THEN { NoDuty } ELSE {})

\* A flow that is back gets its partitions at once, without showing the mapping (REB-9).
BugDutyAtBind(c) ==
    [ p \in Partitions |-> IF duty[p][c] = "unbound" THEN [ duty[p] EXCEPT ![c] = "ready" ]
                           ELSE duty[p] ]

\* Partitions of a flow that is gone are not dealt out (REB-11).
BugDutyForGone(p, n) ==
    IF Having(p, {"unbound"}) # {} THEN duty[p]
    ELSE IF Having(p, {"ready", "paused"}) \subseteq {n}
         THEN [ NoDuty EXCEPT ![n] = "ready" ]
    ELSE [ c \in Clients |-> IF c = n THEN "waiting"
                             ELSE IF c \in Having(p, {"ready", "paused"}) THEN "paused"
                             ELSE "none" ]

\* A paused flow is delivered new messages (REB-13).
BugMayReceivePaused(c, p) ==
    p # NoPartition /\ flow[c] = "active" /\ duty[p][c] \in { "ready", "paused" }

\* Hands a partition over at once, whatever is unsettled (REB-14).
BugDutyForAtOnce(p, n) == [ NoDuty EXCEPT ![n] = "ready" ]

\* Does not wait for what the old flow has not settled (REB-14).
BugAllSettled(p) == TRUE
================================================================================
