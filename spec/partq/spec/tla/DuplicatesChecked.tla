--------------------------- MODULE DuplicatesChecked ---------------------------
(***************************************************************************)
(* What is asked about Duplicates: its requirements, its wrong brokers, its *)
(* interesting states, its constants.  Duplicates.toml has the questions.   *)
(***************************************************************************)
EXTENDS Duplicates, Requirements

\* IDs of the messages that are sent: all the same.
IdsAA == [ m \in Messages |-> IF m \in Activations THEN m ELSE 1 ]

\* KEY-4 (A): "else, with duplicate detection on, the message ID" is the key: messages
\* that bear the same ID, and no other key, are together.
KEY_4 == [](AzurePartitions =>
    \A m, n \in Messages :
        Ids[m] = Ids[n] /\ KeyOf[m] = KeyOf[n] =>
            Cardinality(ShownPartitions(m) \cup ShownPartitions(n)) <= 1)

\* DUP-1 (A, D): "a second message with the same message ID (partitioned: and the same
\* key) is accepted and dropped: one copy is ever visible"; and no other message is
\* dropped for its ID.  (That a duplicate is accepted: KEY-9.)  The window of what was sent
\* right before is said once more, without WindowIsOver, which the broker goes by, too.
DUP_1 == [][
    /\ Shows => \A m \in answer'.ms : history.sent[Origins[m]] # "duplicate"
    /\ Shows => \A m \in answer'.ms :
            m - 1 \in Accepted /\ IsCopy(m - 1, m) => m \in AfterWindow
    /\ answer'.op = "drained" =>
            \A m \in Live, n \in Messages : n < m /\ Ids[n] = Ids[m] => WindowIsOver(n, m)
    ]_ghostVars

\* DUP-2 (D): "after the window it is stored again".
DUP_2 == [][ answer'.op = "drained" =>
    \A m \in Live : ~(\E n \in Messages : IsCopy(n, m) /\ WindowIsOver(n, m)) ]_ghostVars

\* --- Wrong brokers, as in Bugs. -------------------------------------------

\* No message is a duplicate; none is of a message that was scheduled, or that is no more
\* there (DUP-1).
BugRepeatsNever(m) == FALSE
BugRepeatsSent(m) == \E n \in Messages : IsCopy(n, m) /\ WasStored(n) /\ n \notin Scheduled
BugRepeatsLive(m) == \E n \in Messages : IsCopy(n, m) /\ Stored(n)

\* A message is a duplicate of one that was refused, or that had another key (DUP-1).
BugWasStored(n) == msg[n].at # "unsent"
BugRepeatsAnyKey(m) == \E n \in Messages : n < m /\ Ids[n] = Ids[m] /\ WasStored(n)

\* ... or, without partitions, none of one that had another key (DUP-1).
BugRepeatsSameKey(m) ==
    \E n \in Messages : IsCopy(n, m) /\ Key(n) = Key(m) /\ WasStored(n) /\ ~WindowIsOver(n, m)

\* ... or of one whose window is over (DUP-2).
BugRepeatsForEver(m) == \E n \in Messages : IsCopy(n, m) /\ WasStored(n)

\* The window of what is sent after another one's is over at once (DUP-1).
BugWindowIsOver(n, m) == \E late \in AfterWindow : n <= late /\ late <= m

\* A duplicate is dropped though its partition is down (ROUTE-5).
BugMayDropAnywhere(m, p) == Serves(p)

\* A duplicate is refused as invalid (KEY-9): the last of the checks of a message.
BugValidOnce(m) == m \notin TwoKeys /\ ~Repeats(m)

\* --- Interesting states, as in Reach. -------------------------------------

\* A duplicate is dropped, of a message that is there or no more; after the window a copy is
\* stored, and both are there.
NeverDropped == ~(\E m \in Messages : msg[m].at = "dropped" /\ \E n \in Messages : IsCopy(n, m) /\ Stored(n))
NeverDroppedLate == ~(\E m \in Messages : msg[m].at = "dropped" /\ \A n \in Messages : ~Stored(n))
NeverStoredAgain == ~(\E m, n \in Messages : IsCopy(n, m) /\ Stored(n) /\ Stored(m))
NeverDroppedForScheduled == ~(\E m \in Messages :
    msg[m].at = "dropped" /\ \E n \in Scheduled : IsCopy(n, m) /\ msg[n].at = "scheduled")
================================================================================
