-------------------------------- MODULE FlatQueue ------------------------------
(***************************************************************************)
(* A queue without partitions, with free order across keys, as clients see  *)
(* it: what RCV-12 compares a partitioned entity with.  It knows messages   *)
(* and what is said of them, and no partition, number or fault.  `Flat` in  *)
(* Requirements maps what clients have seen to it.                          *)
(***************************************************************************)
CONSTANT
    \* @type: Set(Int);
    Messages

VARIABLES
    \* Of each message: absent, there, locked, aside (deferred), gone.
    \* @type: Int -> Str;
    at,
    \* Those with a lock that holds for certain, with a position that is free (or that a
    \* front end fetched), and that may be there, or not yet, or no more.
    \* @type: Set(Int);
    held,
    \* @type: Set(Int);
    loose,
    \* @type: Set(Int);
    unsure,
    \* Of each message those of its key that were accepted before it was sent.
    \* @type: Int -> Set(Int);
    ahead,
    \* The last answer.
    \* @type: {op: Str, by: Str, m: Int, ms: Set(Int), turn: Int, counts: Int -> Int, waiting: Set(Int), deferred: Set(Int), named: Set(Int), reasons: Int -> Str, out: Str, beat: Bool};
    said

\* RCV-3 within a key: every message before it is gone, held, or has a free position.
InTurn(m) == m \in loose \/ \A x \in ahead[m] : at[x] # "there" \/ x \in loose \cup unsure

\* RCV-6: nobody holds it, or perhaps nobody any more.
MayBeLost(m) == at[m] = "locked" /\ m \notin held
Free(m) == at[m] = "there" \/ MayBeLost(m)

Delivers(m) ==
    /\ said'.op \in { "receive", "delete" }
    /\ Free(m) /\ InTurn(m)
    /\ at' = [ at EXCEPT ![m] = IF said'.op = "receive" THEN "locked" ELSE "gone" ]

DeliversByNumber(ms) ==
    /\ said'.op = "receive deferred"
    /\ \A m \in ms : at[m] = "aside" \/ MayBeLost(m)
    /\ at' = [ m \in Messages |-> IF m \in ms THEN "locked" ELSE at[m] ]

Gives == said'.op \in { "receive", "delete", "receive deferred" } /\ said'.out = "ok"

\* What is sent is there, all of a request or transaction in one step; a duplicate is not.
Accepts ==
    /\ said'.op \in { "send", "schedule", "batch", "schedule batch", "time comes", "commit" }
    /\ said'.out = "ok"

\* What may become of a message whose lock ends, or is found to have ended.
Back == { "there", "aside", "gone" }
After(m) ==
    IF said'.out = "lost" THEN IF m \in held THEN {} ELSE Back
    ELSE IF said'.op \in { "complete", "complete both", "dead letter" } THEN { "gone" }
    ELSE IF said'.op = "defer" THEN { "aside", "gone" }
    ELSE IF said'.op \in { "abandon", "expire" } THEN Back ELSE {}

Becomes(m) ==
    \/ at'[m] = at[m]
    \/ at[m] = "absent" /\ at'[m] = "there" /\ Accepts
    \/ at[m] = "locked" /\ m \in said'.ms /\ at'[m] \in After(m)
    \/ at[m] = "locked" /\ said'.op \in { "commit", "rollback" } /\ at'[m] \in Back
    \* The delivery limit, in a cache; the time to live (RCV-9, RCV-15).
    \/ said'.op \in { "expire", "vanish" } /\ said'.m = m /\ at'[m] = "gone"

Next ==
    IF Gives THEN Delivers(said'.m) \/ DeliversByNumber(said'.ms)
    ELSE /\ said'.op = "prefetch" => InTurn(said'.m)
         /\ \A m \in Messages : Becomes(m)
================================================================================
