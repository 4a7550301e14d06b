-------------------------------- MODULE Inductive ------------------------------
(***************************************************************************)
(* Candidates for inductive invariants, for Apalache: with one of them a    *)
(* safety property holds in behaviours of any length, within the bounds on  *)
(* messages, clients and partitions.  Three calls for each (Ind stands for  *)
(* its name, Safety for what it implies):                                   *)
(*                                                                          *)
(*   check --cinit=ConstInit --inv=Ind --length=0  Inductive.tla            *)
(*   check --cinit=ConstInit --init=Ind --inv=Ind --length=1 Inductive.tla  *)
(*   check --cinit=ConstInit --init=Ind --inv=Safety --length=0 ...         *)
(*                                                                          *)
(* Apalache has not been run on them yet.  TLC checks that they are         *)
(* invariants (MCInductive*.cfg); that they are inductive is not known.     *)
(***************************************************************************)
EXTENDS PartitionedQueue, Requirements

\* The scope of the three calls: three messages, two of one key and a keyless one.
ConstInit ==
    /\ MessageCount = 3
    /\ PartitionCount = 2
    /\ Clients = { "c1", "c2" }
    /\ KeyOf = [ m \in 1 .. 3 |-> IF m <= 2 THEN "a" ELSE "-" ]
    /\ TwoKeys = {}
    /\ MaxTries = 2
    /\ MaxDeliveryCount = 10
    /\ PeekMax = 2
    /\ Modulus = 32
    /\ FirstNumber = 1
    /\ Profile = { "partitioned", "numbers", "expiry", "caches" }
    /\ Alphabet = { "abandon", "outage", "transaction" }
    /\ Freedoms = { "lag" }
    /\ Observing = TRUE

MessageStates == { "unsent", "refused", "pending", "lagging", "ready", "cached",
                   "locked", "done", "dead" }

\* The shape of the state: the first conjunct of every candidate.
TypeOK ==
    /\ up \in [ Partitions -> BOOLEAN ]
    /\ running \in BOOLEAN
    /\ msg \in [ Messages ->
          [ at : MessageStates, part : Partitions \cup {NoPartition},
            num : Numbers \cup {NoNumber}, by : Clients \cup {NoClient}, turn : Turns,
            count : 0 .. MaxTries, placed : BOOLEAN,
            doubt : { "no", "fault", "expiry" }, settling : BOOLEAN ] ]
    /\ counter \in [ Partitions -> Numbers ]
    /\ home \in [ Keys -> Partitions \cup {NoPartition} ]
    /\ txn \in [ state : { "none", "open", "committed", "rolled back" },
                 key : Keys \cup {NoKey}, part : Partitions \cup {NoPartition},
                 doubt : BOOLEAN, doomed : BOOLEAN, missing : BOOLEAN ]
    /\ cursor \in [ Clients -> [ Partitions -> Numbers \cup {NoNumber} ] ]
    /\ mislaid \in [ Clients -> BOOLEAN ]
    /\ flow \in [ Clients -> { "off", "active", "standby" } ]
    /\ duty \in [ Partitions ->
          [ Clients -> { "none", "ready", "paused", "unbound", "waiting" } ] ]
    /\ delay \in BOOLEAN

\* What is over, or has not begun, is in the canonical record.
Canonical ==
    /\ \A m \in Messages :
        /\ msg[m].at \in { "unsent", "refused", "done", "dead" } => msg[m] = Empty(msg[m].at)
        /\ msg[m].at # "locked" => /\ msg[m].by = NoClient
                                   /\ msg[m].doubt = "no" /\ ~msg[m].settling
        /\ msg[m].at = "locked" => msg[m].by # NoClient
        /\ Visible(m) \/ msg[m].at = "lagging" =>
              msg[m].part # NoPartition /\ msg[m].num # NoNumber
    /\ \A m, n \in Messages : n < m /\ msg[n].at = "unsent" => msg[m].at = "unsent"

\* ROUTE-1: what is stored is where its key lives, and what was shown was there.
KeyAffinity ==
    \A m \in Messages : Keyed(m) =>
        /\ Stored(m) /\ msg[m].part # NoPartition => msg[m].part = home[KeyOf[m]]
        /\ history.shown[m] # {} => ShownPartitions(m) = { home[KeyOf[m]] }
IndKeyAffinity == TypeOK /\ Canonical /\ KeyAffinity

\* SEQ-1, SEQ-4: each number lies behind its partition's counter, by no more than
\* messages were sent; no two are equal.  (Without the freedoms "gaps", "busy".)
SentSoFar == Cardinality({ m \in Messages : msg[m].at # "unsent" })
UniqueNumbers ==
    /\ \A p \in Partitions : Distance(FirstNumber, counter[p]) <= SentSoFar
    /\ \A m \in Messages : Stored(m) /\ msg[m].num # NoNumber =>
          Distance(FirstNumber, msg[m].num) < Distance(FirstNumber, counter[msg[m].part])
    /\ \A m, n \in Messages :
          /\ m # n /\ Stored(m) /\ Stored(n)
          /\ msg[m].part = msg[n].part /\ msg[m].num # NoNumber
          => msg[m].num # msg[n].num
IndUniqueNumbers == TypeOK /\ Canonical /\ UniqueNumbers

\* RCV-6: a lock that a client holds for certain is the one that the broker has; so
\* there is one at most, and nobody else is given the message.
ExclusiveLocks ==
    /\ \A m \in Messages : \A t \in Turns :
          /\ history.lock[m][t] = "held" =>
                msg[m].at = "locked" /\ msg[m].turn = t /\ msg[m].doubt = "no"
          /\ history.lock[m][t] = "doubt" =>
                msg[m].at = "locked" /\ msg[m].turn = t /\ msg[m].doubt # "no"
IndExclusiveLocks == TypeOK /\ Canonical /\ ExclusiveLocks

\* REB-1: one flow a partition, and one that waits for it at most.
ExclusiveAssignment ==
    /\ \A p \in Partitions :
          /\ Cardinality(Having(p, { "ready", "paused", "unbound" })) <= 1
          /\ Cardinality(Having(p, { "waiting" })) <= 1
          /\ Having(p, { "ready", "paused", "waiting" }) \subseteq Active
    /\ history.duty = duty
IndExclusiveAssignment == TypeOK /\ ExclusiveAssignment

\* TXN-5: what a transaction does is pending as long as it is open, and then all of
\* it has happened, or nothing.
Atomicity ==
    /\ Pending \cup Settling # {} => Open
    /\ history.deal.state = "open" => history.deal.sends = Pending
                                      \/ txn.state = "rolled back"
    /\ history.deal.state = "committed" =>
          /\ txn.state = "committed"
          /\ \A m \in history.deal.sends : msg[m].at \notin { "pending", "refused", "unsent" }
          /\ \A m \in history.deal.settles : msg[m].at = "done"
    /\ history.deal.state = "rolled back" =>
          \A m \in history.deal.sends : msg[m].at = "refused"
    /\ history.deal.state # "committed" =>
          \A m \in history.deal.sends : history.shown[m] = {}
IndAtomicity == TypeOK /\ Canonical /\ Atomicity
================================================================================
