-------------------------------- MODULE Routing --------------------------------
(***************************************************************************)
(* Which partition a message goes to.                                       *)
(*                                                                          *)
(* ROUTE-1: messages with equal keys are stored in the same partition, for  *)
(* the life of the entity.  ROUTE-2: which one is a function of the key,    *)
(* that no client knows; it is chosen when the key is first used, and kept. *)
(* (To choose it in the initial state gives the same traces, but another    *)
(* state graph.)                                                            *)
(***************************************************************************)
EXTENDS PartitionLog

VARIABLES
    \* @type: Str -> Int;
    home

RoutingInit == home = [k \in Keys |-> NoPartition]

\* KEY-3: session ID and partition key must not differ.  SES-3: a session ID is required.
Valid(m) == m \notin TwoKeys \cup Sessionless

\* ROUTE-1: a key stays where it is.  ROUTE-3 MAY: a keyless message goes to
\* any partition.
Choices(m) == IF Keyed(m) /\ home[Key(m)] # NoPartition
              THEN { home[Key(m)] }
              ELSE Partitions

HomeAfter(m, p) == IF Keyed(m) THEN [home EXCEPT ![Key(m)] = p] ELSE home

\* ROUTE-5, ROUTE-6, ROUTE-8: a message is stored only where the partition is
\* up.  A keyless one goes to another if the first choice is down.
MayStore(m, p) == /\ p \in Choices(m)
                  /\ Serves(p)

\* ROUTE-6: before a keyless message is stored it may have been tried in
\* partitions that are down, and an aborted try may use up a number there.
TriedBefore(m) == IF Keyed(m) THEN {} ELSE Down

\* ROUTE-5, ROUTE-7, ROUTE-8: a send fails for a fault only if that fault is in
\* its way: the partition of its key is down; without a key, all are.
BlockedAt(m, p) == p \in Choices(m) /\ ~Serves(p)
Blocked(m) == IF Keyed(m) THEN \E p \in Partitions : BlockedAt(m, p)
                          ELSE \A p \in Partitions : BlockedAt(m, p)
================================================================================
