------------------------------- MODULE Rebalancing -----------------------------
(***************************************************************************)
(* Solace: partitions and the flows that consume them.  A flow is one       *)
(* consumer's binding to the queue; C of them are bound, there are P        *)
(* partitions.  The rebalance delay and the handoff time are armed by one   *)
(* event and end at any later moment.                                       *)
(***************************************************************************)
EXTENDS Peeking

VARIABLES
    \* off; active: it has, or waits for, partitions; standby: it was bound
    \* while C >= P (REB-5).
    \* @type: Str -> Str;
    flow,
    \* What each flow is to each partition: none; ready: it is delivered the
    \* partition's messages; paused: it is handing the partition off; unbound:
    \* the flow is gone; waiting: the handoff is to it.  (REB-13.)  That there
    \* is one flow at a time is not built in: it is REB-1.
    \* @type: Int -> (Str -> Str);
    duty,
    \* The rebalance delay is running.
    \* @type: Bool;
    delay

flowVars == << flow, duty, delay >>

NoDuty == [ c \in Clients |-> "none" ]

RebalancingInit == /\ flow = [ c \in Clients |-> "off" ]
                   /\ duty = [ p \in Partitions |-> NoDuty ]
                   /\ delay = FALSE

Bound == { c \in Clients : flow[c] # "off" }
Active == { c \in Clients : flow[c] = "active" }
Standbys == { c \in Clients : flow[c] = "standby" }

\* @type: (Int, Set(Str)) => Set(Str);
Having(p, states) == { c \in Clients : duty[p][c] \in states }

\* REB-2, REB-13: delivered only to the flow that the partition is assigned to,
\* and only while that is ready.  Without flows anybody receives.
MayReceive(c, p) ==
    /\ p # NoPartition
    /\ HasFlows => flow[c] = "active" /\ duty[p][c] = "ready"

\* What flow c was given of partition p, and has not acknowledged.
Unacknowledged(p, c) ==
    { m \in Messages : msg[m].at = "locked" /\ msg[m].by = c /\ msg[m].part = p }

\* REB-4: "a bind while C < P starts the delay"; REB-5: while C >= P it starts
\* none, and the flow is a standby.
BindsActive == Cardinality(Bound) < PartitionCount
DelayAtBind == delay \/ BindsActive
\* A delay that runs goes on through a takeover, and a kill that keeps the flows.
DelayKept == delay

\* REB-9: a flow that binds has to wait for the rebalance, also if it was lost just
\* before and its partitions are unbound still.  (A name of its own, for Bugs to replace.)
DutyAtBind(c) == duty

(***************************************************************************)
(* Partition p when flow c goes and s, unless it is NoClient, takes its     *)
(* place (REB-6); without one its partitions stay unbound until the delay   *)
(* ends (REB-7).                                                            *)
(*                                                                          *)
(* If p is being handed off by c: its messages went back, so the handoff    *)
(* has nothing left to wait for and may end at any moment; if the flow that *)
(* it was for has gone, too, p is c's as any other, and s has it at once.   *)
(* If p is being handed off *to* c and nobody takes its place: "the         *)
(* partition may stay with its old flow at once (REB-9 ?), or wait".        *)
(***************************************************************************)
HandedToNobody(p) == Having(p, {"paused"}) # {} /\ Having(p, {"waiting"}) = {}

DutyWithout(p, c, s) ==
    LET mine == duty[p][c]
        gone == [ duty[p] EXCEPT ![c] = "none" ]
    IN IF mine \in { "none", "unbound" } THEN { duty[p] }
       ELSE IF s # NoClient /\ mine = "paused" /\ HandedToNobody(p)
            THEN { [ gone EXCEPT ![s] = "ready" ] }
       ELSE IF s # NoClient /\ mine # "paused"
            THEN { [ gone EXCEPT ![s] = mine ] }
       ELSE IF mine = "waiting"
            THEN { gone } \cup
                 { [ gone EXCEPT ![o] = "ready" ] : o \in Having(p, {"paused"}) }
       ELSE { [ duty[p] EXCEPT ![c] = "unbound" ] }

\* REB-7: the delay starts when an active flow goes.  If it had no partition, and
\* no handoff is left without a flow to end at, no source says whether the delay
\* starts: either.
\* @type: (Str, Int -> (Str -> Str)) => Set(Bool);
DelayWithout(c, after) ==
    IF flow[c] # "active" THEN { delay }
    ELSE IF \E p \in Partitions :
                \/ duty[p][c] = "ready"
                \/ duty[p][c] = "waiting" /\ \A o \in Clients : after[p][o] # "ready"
         THEN { TRUE }
    ELSE { delay, TRUE }

DutiesWithout(c, s) ==
    { d \in [ Partitions -> UNION { DutyWithout(p, c, s) : p \in Partitions } ] :
        \A p \in Partitions : d[p] \in DutyWithout(p, c, s) }

\* REB-3: what a flow that went had not acknowledged goes back to its place.
MessagesWithout(c) ==
    [ m \in Messages |-> IF msg[m].at = "locked" /\ msg[m].by = c
                         THEN GivenBack(m, msg[m].count, TRUE) ELSE msg[m] ]

(***************************************************************************)
(* REB-12: after a rebalance every active flow holds the same number of     *)
(* partitions, +-1.  Which ones is free (REB-9: "arbitrary partitions").    *)
(***************************************************************************)
\* @type: (Int -> Str, Str) => Int;
Share(f, c) == Cardinality({ p \in Partitions : f[p] = c })
\* @type: (Int -> Str) => Bool;
Even(f) == \A c, d \in Active : Share(f, c) - Share(f, d) \in { -1, 0, 1 }
Owners == IF Active = {} THEN { NoClient } ELSE Active
Distributions == { f \in [ Partitions -> Owners ] : Even(f) }

\* Partition p, that flow n is to have after the rebalance.  REB-14: a flow that
\* is delivered its messages is paused first, and n waits.
DutyFor(p, n) ==
    LET olds == Having(p, {"ready", "paused"})
    IN IF olds = {} \/ n \in olds
       THEN [ NoDuty EXCEPT ![n] = "ready" ]
       ELSE [ c \in Clients |-> IF c = n THEN "waiting"
                                ELSE IF c \in olds THEN "paused" ELSE "none" ]

\* REB-11: at the end of the delay the remaining flows have all partitions; with
\* none left the partitions are unassigned (REB-13).
DutiesAfterRebalance ==
    { [ p \in Partitions |-> IF f[p] = NoClient THEN NoDuty ELSE DutyFor(p, f[p]) ] :
        f \in Distributions }

\* Handoff (REB-14): "the new one starts when the old one's unacknowledged
\* messages are settled or the handoff time ends, whichever is first".  If the
\* new one has gone meanwhile nobody has the partition then, until the delay
\* ends (REB-13: unassigned); no source says whether the handoff ends at all.
InHandoff(p) == Having(p, {"waiting", "paused"}) # {}
Leaving(p) == Having(p, {"paused", "unbound"})
\* A lock that a kill put in doubt is not waited for (reading "Flows").
AllSettled(p) == \A c \in Leaving(p) : \A m \in Unacknowledged(p, c) : InDoubt(m)
HandedOff(p) ==
    [ c \in Clients |-> IF duty[p][c] = "waiting" THEN "ready" ELSE "none" ]

\* REB-14, REB-3: at the end of the handoff time, and only then, what the old
\* flow has not settled goes back to its place, to be redelivered.
MessagesAfterHandoff(p) ==
    [ m \in Messages |->
        IF \E c \in Leaving(p) : m \in Unacknowledged(p, c)
        THEN GivenBack(m, msg[m].count, TRUE) ELSE msg[m] ]

\* REB-9 ?: "whether a count back at its old value cancels the handoffs".
\* A flow that was handing p off goes on with it, if it is still there.
MayResume(p) == InHandoff(p) /\ Having(p, {"paused"}) \cap Bound # {}
Resumed(p) ==
    [ c \in Clients |-> IF duty[p][c] = "paused" THEN "ready"
                        ELSE IF duty[p][c] = "waiting" THEN "none"
                        ELSE duty[p][c] ]
================================================================================
