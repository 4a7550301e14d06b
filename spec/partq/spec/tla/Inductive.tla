-------------------------------- MODULE Inductive ------------------------------
(***************************************************************************)
(* Inductive invariants: with one of them a property holds in behaviours of *)
(* any length, within the bounds of its Proof*.cfg.  Three questions, which *)
(* Apalache answers; Ind stands for the invariants of that file together,   *)
(* Safe for a property there:                                               *)
(*                                                                          *)
(*   Init => Ind            it holds in the beginning,                      *)
(*   Ind /\ Next => Ind'    every step keeps it,                            *)
(*   Ind => Safe            and it implies the property (one of a step:     *)
(*                          Ind /\ Next => Safe).                           *)
(*                                                                          *)
(* Next is that of PartitionedQueue, whole.  TLC checks in the same bounds  *)
(* that they are invariants of what can be reached.                         *)
(***************************************************************************)
EXTENDS PartitionedQueue, Requirements

(***************************************************************************)
(* The shape of the state: the first conjunct of every invariant.  What the *)
(* scope does not offer stays as it was in the beginning.                   *)
(***************************************************************************)
MessageStates == { "unsent", "refused", "pending", "lagging", "ready", "cached",
                   "locked", "done", "dead" }
Reasons == { "-", "limit" }
Doubts == { "no", "fault", "expiry" }
SomePartition == Partitions \cup {NoPartition}
SomeNumber == Numbers \cup {NoNumber}
SomeMessages == SUBSET Messages
SomeClient == Clients \cup {NoClient}
TxnStates == IF Offers("transaction") THEN { "none", "open", "committed", "rolled back" }
             ELSE { "none" }
FlowStates == IF HasFlows THEN { "off", "active", "standby" } ELSE { "off" }
Duties == IF HasFlows THEN { "none", "ready", "paused", "unbound", "waiting" } ELSE { "none" }
SomeFlows == SUBSET (IF HasFlows THEN Clients ELSE {})
Delays == IF HasFlows THEN BOOLEAN ELSE {FALSE}
Sent == { "no", "accepted", "refused", "enlisted" }
LockStates == { "none", "held", "doubt", "ended" }
NoWalks == [ c \in Clients |-> { {} } ]

\* What an observation of number n in partition p shows.
Spot(p, n) == [ part |-> p, seq |-> IF ShowsNumbers THEN SequenceNumber(p, n) ELSE 0 ]

TypeOK ==
    /\ up \in [ Partitions -> BOOLEAN ]
    /\ running \in BOOLEAN
    /\ msg \in [ Messages ->
          [ at : MessageStates, part : SomePartition, num : SomeNumber, by : SomeClient,
            turn : Turns, count : 0 .. MaxTries, placed : BOOLEAN, doubt : Doubts,
            settling : BOOLEAN, aside : {FALSE}, over : {FALSE}, fading : {FALSE}, reason : Reasons ] ]
    /\ counter \in [ Partitions -> Numbers ]
    /\ home \in [ Keys -> SomePartition ]
    /\ txn \in [ state : TxnStates, key : Keys \cup {NoKey}, part : SomePartition,
                 doubt : BOOLEAN, doomed : BOOLEAN, missing : BOOLEAN, defers : {{}} ]
    /\ cursor = [ c \in Clients |-> AtStart ]
    /\ mislaid = [ c \in Clients |-> FALSE ]
    /\ flow \in [ Clients -> FlowStates ]
    /\ duty \in [ Partitions -> [ Clients -> Duties ] ]
    /\ delay \in Delays
    /\ history.sent \in [ Messages -> Sent ]
    /\ history.place \in [ Messages -> [ part : SomePartition, num : SomeNumber ] ]
    /\ history.before \in [ Messages -> SomeMessages ]
    /\ history.skips \in [ Messages -> SUBSET Partitions ]
    /\ \A m \in Messages : history.shown[m] \subseteq { Spot(PlaceOf(m).part, PlaceOf(m).num) }
    /\ history.lock \in [ Messages -> [ Turns -> LockStates ] ]
    /\ history.turn \in [ Messages -> Turns ] /\ history.holder \in [ Messages -> SomeClient ]
    /\ history.consumed \in SomeMessages /\ history.buried \in SomeMessages
    /\ history.dismissed = {} /\ history.aside = {} /\ history.over = {}
    /\ history.unseen \in SomeMessages /\ history.free \in SomeMessages
    /\ history.least \in [ Messages -> Int ] /\ history.most \in [ Messages -> Int ]
    /\ history.outage \in SUBSET Partitions /\ history.alive \in BOOLEAN
    /\ history.deal \in [ state : TxnStates, sends : SomeMessages, settles : SomeMessages,
                          defers : {{}}, fading : {{}}, seen : BOOLEAN, trouble : BOOLEAN ]
    /\ history.walks = NoWalks
    /\ history.bound \in SomeFlows /\ history.standby \in SomeFlows
    /\ history.returned \in SomeFlows /\ history.was \in SomeFlows
    /\ history.duty \in [ Partitions -> [ Clients -> Duties ] ]
    /\ history.timer \in Delays /\ history.delay \in Delays /\ history.cancelled \in Delays

\* The keys of the Proof*.cfg.  Apalache (0.57.0) may find no function in a set of
\* functions whose domain is computed, such as [ Keys -> SomePartition ], that can be
\* changed by EXCEPT: what sends by key was disabled.
Letters == { "a" }

\* All states of that shape, one variable after the other, functions before records:
\* Apalache can begin with it, and TLC can't.  The last answer makes no difference to
\* what happens next.
AnyState ==
    /\ up \in [ Partitions -> BOOLEAN ]
    /\ running \in BOOLEAN
    /\ \E at \in [ Messages -> MessageStates ], part \in [ Messages -> SomePartition ],
          num \in [ Messages -> SomeNumber ], by \in [ Messages -> SomeClient ],
          turn \in [ Messages -> Turns ], count \in [ Messages -> 0 .. MaxTries ],
          placed \in [ Messages -> BOOLEAN ], doubt \in [ Messages -> Doubts ],
          settling \in [ Messages -> BOOLEAN ], reason \in [ Messages -> Reasons ] :
            msg = [ m \in Messages |->
                [ at |-> at[m], part |-> part[m], num |-> num[m], by |-> by[m],
                  turn |-> turn[m], count |-> count[m], placed |-> placed[m],
                  doubt |-> doubt[m], settling |-> settling[m],
                  aside |-> FALSE, over |-> FALSE, fading |-> FALSE, reason |-> reason[m] ] ]
    /\ counter \in [ Partitions -> Numbers ]
    /\ \E where \in [ Letters -> SomePartition ] : home = [ k \in Keys |-> where[k] ]
    /\ txn \in [ state : TxnStates, key : Keys \cup {NoKey}, part : SomePartition,
                 doubt : BOOLEAN, doomed : BOOLEAN, missing : BOOLEAN, defers : {{}} ]
    /\ cursor = [ c \in Clients |-> AtStart ]
    /\ mislaid = [ c \in Clients |-> FALSE ]
    /\ flow \in [ Clients -> FlowStates ]
    /\ duty \in [ Partitions -> [ Clients -> Duties ] ]
    /\ delay \in Delays
    /\ \E sent \in [ Messages -> Sent ], part \in [ Messages -> SomePartition ],
          num \in [ Messages -> SomeNumber ], before \in [ Messages -> SomeMessages ],
          skips \in [ Messages -> SUBSET Partitions ], shown \in [ Messages -> BOOLEAN ],
          lock \in [ Messages -> [ Turns -> LockStates ] ],
          begun \in [ Messages -> Turns ], holder \in [ Messages -> SomeClient ],
          consumed \in SomeMessages, buried \in SomeMessages,
          unseen \in SomeMessages, free \in SomeMessages,
          least \in [ Messages -> Int ], most \in [ Messages -> Int ],
          outage \in SUBSET Partitions, alive \in BOOLEAN, state \in TxnStates,
          sends \in SomeMessages, settles \in SomeMessages, seen \in BOOLEAN,
          trouble \in BOOLEAN,
          bound \in SomeFlows, standby \in SomeFlows, returned \in SomeFlows, was \in SomeFlows,
          duties \in [ Partitions -> [ Clients -> Duties ] ],
          timer \in Delays, delaying \in Delays, cancelled \in Delays :
            history =
              [ sent |-> sent,
                place |-> [ m \in Messages |-> [ part |-> part[m], num |-> num[m] ] ],
                before |-> before, skips |-> skips, lock |-> lock,
                turn |-> begun, holder |-> holder,
                shown |-> [ m \in Messages |->
                    IF shown[m] THEN { Spot(part[m], num[m]) } ELSE {} ],
                consumed |-> consumed, buried |-> buried, dismissed |-> {},
                aside |-> {}, over |-> {}, unseen |-> unseen, free |-> free,
                least |-> least, most |-> most, outage |-> outage, alive |-> alive,
                deal |-> [ state |-> state, sends |-> sends, settles |-> settles,
                           defers |-> {}, fading |-> {}, seen |-> seen, trouble |-> trouble ],
                walks |-> NoWalks, bound |-> bound, standby |-> standby,
                returned |-> returned, was |-> was, duty |-> duties,
                timer |-> timer, delay |-> delaying, cancelled |-> cancelled ]
    /\ answer = NoAnswer

\* What is over, or has not begun, is in the canonical record; what is stored has a
\* place.
Canonical ==
    /\ \A m \in Messages :
        /\ msg[m].at \in { "unsent", "refused", "done" } => msg[m] = Empty(msg[m].at)
        /\ IF msg[m].at = "dead" THEN msg[m] = Dead(m, "limit") ELSE msg[m].reason = "-"
        /\ msg[m].at # "locked" => /\ msg[m].by = NoClient
                                   /\ msg[m].doubt = "no" /\ ~msg[m].settling
        /\ msg[m].at = "locked" => msg[m].by # NoClient
        /\ msg[m].at \in { "cached", "locked" } => msg[m].count < MaxTries
        /\ Visible(m) \/ msg[m].at = "lagging" =>
              msg[m].part # NoPartition /\ msg[m].num # NoNumber
        /\ msg[m].at = "pending" => Open /\ (msg[m].part = NoPartition => txn.doomed)
        /\ msg[m].settling => Open
    /\ \A m, n \in Messages : n < m /\ msg[n].at = "unsent" => msg[m].at = "unsent"

\* Clients know the place of what is stored, and of nothing that is not.
PlaceKnown ==
    \A m \in Messages :
        /\ Stored(m) => history.place[m] = [ part |-> msg[m].part, num |-> msg[m].num ]
        /\ msg[m].at = "unsent" => history.place[m] = [ part |-> NoPartition, num |-> NoNumber ]

\* What was shown has a place (TypeOK says that it was that one).
ShownThere ==
    \A m \in Messages : history.shown[m] # {} =>
        PlaceOf(m).part # NoPartition /\ PlaceOf(m).num # NoNumber

Shape == TypeOK /\ Canonical /\ PlaceKnown /\ ShownThere
AnyShape == AnyState /\ Canonical /\ PlaceKnown /\ ShownThere

\* What clients know of the transaction: as long as it is open its sends are pending,
\* and each message that was settled in it will be, or is, or the commit will fail.
DealKnown ==
    /\ txn.state = "none" => /\ history.deal.state = "none"
                             /\ history.deal.sends = {} /\ history.deal.settles = {}
    /\ Open => /\ history.deal.state = "open"
               /\ history.deal.sends = Pending
               /\ Settling \subseteq history.deal.settles
               /\ \A m \in history.deal.settles :
                    msg[m].settling \/ msg[m].at = "done" \/ txn.doomed
    /\ txn.state = "committed" => history.deal.state = "committed"
    /\ txn.state = "rolled back" =>
          /\ history.deal.state \in { "open", "rolled back" }
          /\ \A m \in history.deal.sends : msg[m].at = "refused"

(***************************************************************************)
(* ROUTE-1: what is stored is where its key lives, and what was shown was   *)
(* there.                                                                   *)
(***************************************************************************)
KeyAffinity ==
    \A m \in Messages : Keyed(m) =>
        /\ Stored(m) /\ msg[m].part # NoPartition => msg[m].part = home[KeyOf[m]]
        /\ history.shown[m] # {} => ShownPartitions(m) = { home[KeyOf[m]] }

(***************************************************************************)
(* SEQ-1, SEQ-2, SEQ-6: each number lies behind its partition's counter, by *)
(* no more than messages were numbered; no two are equal.  SEQ-4: none is   *)
(* left out: each number behind the counter was given to a message that was *)
(* accepted, or sent in the transaction.  (Without the freedom "gaps".)     *)
(***************************************************************************)
Behind(n, p) == Distance(FirstNumber, n) < Distance(FirstNumber, counter[p])
UniqueNumbers ==
    /\ \A p \in Partitions : Distance(FirstNumber, counter[p]) <=
          Cardinality({ m \in Messages : msg[m].at # "unsent" /\ ~Unnumbered(m) })
    /\ \A m \in Messages : PlaceOf(m).num # NoNumber =>
          PlaceOf(m).part # NoPartition /\ Behind(PlaceOf(m).num, PlaceOf(m).part)
    /\ \A m, n \in Messages :
          m # n /\ SamePlace(m, n) /\ PlaceOf(m).num # NoNumber
          => PlaceOf(m).num # PlaceOf(n).num

Given(n, p) ==
    \E m \in Messages :
        /\ PlaceOf(m) = [ part |-> p, num |-> n ]
        /\ history.sent[m] = "accepted" \/ m \in history.deal.sends
NoneLeftOut == \A p \in Partitions : \A n \in Numbers : Behind(n, p) => Given(n, p)

(***************************************************************************)
(* RCV-6, RCV-7, RCV-8: the lock that a client holds, for certain or in     *)
(* doubt, is the one that the broker has, so there is one at most, and      *)
(* nobody else is given the message; what was consumed is gone, and nothing *)
(* else is (RCV-2).  Which lock was begun last and, with flows, to whom it  *)
(* was given, is known.                                                     *)
(***************************************************************************)
ExclusiveLocks ==
    /\ \A m \in Messages : \A t \in Turns :
        LET has == msg[m].at = "locked" /\ msg[m].turn = t IN
        /\ (history.lock[m][t] = "held")  = (has /\ msg[m].doubt = "no")
        /\ (history.lock[m][t] = "doubt") = (has /\ msg[m].doubt # "no")
    /\ \A m \in Messages : m \in history.consumed <=> msg[m].at = "done"
    /\ \A m \in Messages : msg[m].at \in { "ready", "cached", "locked" } =>
          history.turn[m] = msg[m].turn
    /\ \A m \in Messages : msg[m].at \in { "unsent", "pending", "lagging" } =>
          history.turn[m] = BeforeFirstTurn /\ msg[m].turn = BeforeFirstTurn
    /\ \A m \in Messages : m \in history.unseen <=> msg[m].at = "cached"
    /\ HasFlows => \A m \in Messages : history.holder[m] = msg[m].by

(***************************************************************************)
(* TXN-5, TXN-10: what a transaction does is pending as long as it is open, *)
(* and then all of it has happened, or nothing.                             *)
(***************************************************************************)
Atomicity ==
    /\ history.deal.state = "committed" =>
          /\ txn.state = "committed"
          /\ \A m \in history.deal.sends : msg[m].at \notin { "pending", "refused", "unsent" }
          /\ \A m \in history.deal.settles : msg[m].at = "done"
    /\ history.deal.state = "rolled back" =>
          \A m \in history.deal.sends : msg[m].at = "refused"
    /\ history.deal.state # "committed" =>
          \A m \in history.deal.sends : history.shown[m] = {}

\* --- REB-1: one flow a partition, and one that waits for it at most. ------
ExclusiveAssignment ==
    /\ \A p \in Partitions :
          /\ Cardinality(Having(p, { "ready", "paused", "unbound" })) <= 1
          /\ Cardinality(Having(p, { "waiting" })) <= 1
          /\ Having(p, { "ready", "paused", "waiting" }) \subseteq Active
    /\ history.duty = duty
================================================================================
