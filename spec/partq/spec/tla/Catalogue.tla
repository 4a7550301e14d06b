------------------------------- MODULE Catalogue -------------------------------
(***************************************************************************)
(* The vocabulary of the specification: what there is (messages, keys,      *)
(* partitions, clients), what a family of brokers promises (`Profile`),     *)
(* what clients and the environment do in a scope (`Alphabet`), and which   *)
(* of the catalogue's freedoms a broker makes use of (`Freedoms`).          *)
(*                                                                          *)
(* IDs such as ROUTE-1 are requirements of the catalogue.  Sources:         *)
(* A, A20 Azure "Partitioned queues and topics" (now, June 2020), M Azure   *)
(* "Message sequencing and timestamps", S Solace "Partitioned queue         *)
(* messaging", D further vendor documentation, K vendors' SDKs and their    *)
(* live tests, I issue threads, ? not settled by any source.  A "reading"   *)
(* is a sentence of docs/rules.                                             *)
(*                                                                          *)
(* There is no clock.  A timer is an event that may happen at any moment    *)
(* once it is armed.                                                        *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    \* How many messages there are.  The one producer sends them in the order 1, 2, ...,
    \* but for `Activations`, which come last and which the broker itself appends.
    \* @type: Int;
    MessageCount,
    \* How many partitions the queue has: 1 on an entity without partitions.
    \* @type: Int;
    PartitionCount,
    \* Who receives, settles and peeks.
    \* @type: Set(Str);
    Clients,
    \* The key of each message, or NoKey (KEY-1, KEY-2, KEY-4 and KEY-8 say
    \* which property of a message is its key; here only the outcome counts).
    \* @type: Int -> Str;
    KeyOf,
    \* Messages that bear a session ID and another partition key (KEY-3).
    \* @type: Set(Int);
    TwoKeys,
    \* A lock begins only while the message's delivery count is below this.
    \* It bounds the scope and is no promise of any broker.
    \* @type: Int;
    MaxTries,
    \* The entity's maximum delivery count (RCV-9).  Above MaxTries: no
    \* message of the scope is dead-lettered.
    \* @type: Int;
    MaxDeliveryCount,
    \* How many messages a peek asks for.
    \* @type: Int;
    PeekMax,
    \* A partition's counter runs through 0 .. Modulus-1 and then begins at 0
    \* again: 2^48 in reality (SEQ-5).
    \* @type: Int;
    Modulus,
    \* The first number of every partition.
    \* @type: Int;
    FirstNumber,
    \* @type: Set(Str);
    Profile,
    \* @type: Set(Str);
    Alphabet,
    \* @type: Set(Str);
    Freedoms,
    \* TRUE: record what clients see, so that requirements can be checked.
    \* FALSE: the ghosts stay as they were, and the state graph is that of the
    \* mechanism alone.
    \* @type: Bool;
    Observing

NoKey == "-"
NoClient == "-"
NoPartition == 0
NoNumber == -1

Messages == 1 .. MessageCount
Partitions == 1 .. PartitionCount
Numbers == 0 .. (Modulus - 1)
Key(m) == KeyOf[m]
Keys == { Key(m) : m \in Messages } \ {NoKey}
Keyed(m) == Key(m) # NoKey

\* Messages that bear a scheduled time (SCH).  A .cfg puts another set in the place of
\* this one where messages are scheduled.
\* @type: Set(Int);
Scheduled == {}

\* SCH-4: an activated message is "appended as if enqueued now, with a new number".
\* So it has a second birth, which is a message of its own here: with its own number,
\* locks and end.  Activation[m] is that of m; Origins[b] is the message that the
\* producer sent.
Activations == (MessageCount - Cardinality(Scheduled) + 1) .. MessageCount
Activation ==
    [ m \in Scheduled |-> MessageCount - Cardinality({ n \in Scheduled : n > m }) ]
Origins ==
    [ b \in Messages |-> IF b \in Activations
                         THEN CHOOSE m \in Scheduled : Activation[m] = b ELSE b ]

\* Messages that bear a time to live (RCV-15); a .cfg puts another set in its place.
\* @type: Set(Int);
Mortal == {}

\* Messages without a session ID, on an entity that requires one (SES-3); a .cfg puts another
\* set in its place.
\* @type: Set(Int);
Sessionless == {}

\* The ID that each message bears (DUP-1), and the messages that are sent when the window
\* of all before them is over (DUP-2); a .cfg puts others in their places.
\* @type: Int -> Int;
Ids == [ m \in Messages |-> m ]
\* @type: Set(Int);
AfterWindow == {}

\* What a family of brokers is.
Promises(word) == word \in Profile
Partitioned       == Promises("partitioned")    \* std, prem, sol; not flat
ShowsNumbers      == Promises("numbers")        \* SEQ rows: std, prem, flat
LocksExpire       == Promises("expiry")         \* std, prem, flat
CachingFrontends  == Promises("caches")         \* RCV-5, RCV-13
HasFlows          == Promises("flows")          \* REB rows: sol
AzurePartitions   == Partitioned /\ ~HasFlows   \* KEY-3, KEY-7, RCV-14: std, prem
CountsDeliveries  == ~HasFlows                  \* RCV-9: std, prem, flat

\* Message n was sent before m under the same ID and, where it makes a difference, the same key.
IsCopy(n, m) == n < m /\ m \notin Activations /\ Ids[n] = Ids[m] /\ (Partitioned => Key(n) = Key(m))
WindowIsOver(n, m) == \E late \in AfterWindow : n < late /\ late <= m

\* What clients and the environment do in this scope, besides sending,
\* receiving with a lock, and completing.
Offers(word) == word \in Alphabet

\* Freedoms of the catalogue that the broker uses, beyond those which no scope
\* can switch off (ROUTE-3, RCV-4, RCV-5, RCV-11, PEEK-3: any choice there).
May(word) == word \in Freedoms
MayFade == May("lag") /\ Offers("peek")

ProfileWords ==
    { "partitioned", "numbers", "expiry", "caches", "flows" }
AlphabetWords ==
    { "abandon",      \* give a lock back
      "stale",        \* settle by a lock that ended, or was never given
      "delete",       \* receive-and-delete
      "shared locks", \* settle by a lock that another client was given
      "pairs",        \* one request that settles two locks (RCV-14)
      "batches",      \* one request that sends two messages (KEY-7)
      "peek",
      "transaction",
      "schedule",     \* the schedule operation (SCH-2)
      "cancellation", \* cancel scheduled messages by their numbers (SCH-3)
      "defer",        \* set a message aside, and receive it by its number (RCV-10)
      "dead letter",  \* say that a message is dead; receive and peek what is (RCV-9)
      "state",        \* write and read the state of a session (SES-2)
      "outage",       \* partitions go down and come up again
      "kill",         \* the broker is killed and started again
      "frontend",     \* the front end of a client is lost
      "drain" }       \* the environment empties the entity (RCV-2)
FreedomWords ==
    { "gaps",         \* an aborted send uses up a number (SEQ-4 ?)
      "busy",         \* an operation is refused in passing with no fault about
      "lag",          \* what a commit did becomes visible later (TXN-5)
      "early",        \* a message of a transaction is numbered before the commit
      "cancel",       \* handoffs are cancelled (REB-9 ?)
      "past",         \* scheduled in the past: stored as if sent without a time
      "reroute",      \* a keyless message is activated in any partition (SCH-4)
      "gone",         \* an unbind of a flow that is gone is answered ok (reading "Flows")
      "buries" }      \* what is over moves to the dead-letter queue (reading "Expiry")

ASSUME /\ MessageCount >= 1 /\ PartitionCount >= 1
       /\ ~Partitioned => PartitionCount = 1
       /\ CachingFrontends => LocksExpire
       /\ HasFlows => Alphabet \cap { "peek", "delete", "transaction" } = {}
       /\ HasFlows => Scheduled = {} /\ Mortal = {} /\ Alphabet \cap { "defer", "dead letter" } = {}
       /\ Mortal \subseteq Messages \ (Scheduled \cup Activations)
       /\ (\E m \in Messages : Ids[m] # m) =>
             /\ Alphabet \cap { "batches", "transaction" } = {}
             /\ Scheduled = {} \/ AfterWindow = {}
             /\ Partitioned => \A m \in Messages : Keyed(m)  \* KEY-4
       /\ Scheduled \subseteq Messages \ Activations
       /\ \A m \in Scheduled : Key(Activation[m]) = Key(m)
       /\ Profile \subseteq ProfileWords
       /\ Alphabet \subseteq AlphabetWords
       /\ Freedoms \subseteq FreedomWords
       /\ FirstNumber \in Numbers
       /\ TwoKeys \subseteq Messages
       /\ Observing \in BOOLEAN

\* Locks of one message are told apart by their turn, which is cyclic: a lock
\* of the turn that is not the current one is stale.  Where no stale lock is
\* ever named one turn will do.
Turns == IF Offers("stale") THEN {1, 2} ELSE {1}
FirstTurn == 1
BeforeFirstTurn == IF Offers("stale") THEN 2 ELSE 1
TurnAfter(t) == IF t = 1 /\ Offers("stale") THEN 2 ELSE 1

\* The answers a peek may give besides none.
PeekAnswers ==
    { ms \in SUBSET Messages : Cardinality(ms) \in 1 .. PeekMax }

\* Serial arithmetic (reading "Sequence numbers"): order survives the roll-over.
Distance(x, y) == (y - x + Modulus) % Modulus
Before(x, y) == 0 < Distance(x, y) /\ 2 * Distance(x, y) < Modulus

\* SEQ-2: the top bits of a sequence number name the partition; "they need not
\* be 0..15", so they are something else here.
TagOf(p) == p + 2
SequenceNumber(p, n) == TagOf(p) * Modulus + n
TagIn(s) == s \div Modulus
NumberIn(s) == s % Modulus
================================================================================
