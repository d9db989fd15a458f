---------------------------- MODULE ProducerState ----------------------------
(***************************************************************************)
(* What the leader of a partition knows of the producers that write to it: *)
(* the newest epoch and sequence of each, whatever kind of producer it is. *)
(* ProducerEpoch writes to it in transactions, IdempotentProducer without. *)
(*                                                                         *)
(* It follows ProducerStateManager and ProducerAppendInfo. What its log    *)
(* has of a producer and what it remembers are two things: it may forget.  *)
(***************************************************************************)
EXTENDS Integers

\* The partitions that producers write to.
\* @type: Set(PARTITION);
CONSTANT Partitions

\* The largest sequence number: 2147483647.
\* @type: Int;
CONSTANT MaxSequence

-----------------------------------------------------------------------------
(***************************************************************************)
(* What a partition's log has of each producer id in it.                   *)
(***************************************************************************)

\* The epoch of the newest batch or marker.
\* @type: PARTITION -> Int -> Int;
VARIABLE appendedEpoch

\* The first sequence of the newest batch of that epoch; -1 when it has none yet.
\* @type: PARTITION -> Int -> Int;
VARIABLE firstSequence

\* The last sequence of that batch; -1 when there is none yet.
\* @type: PARTITION -> Int -> Int;
VARIABLE lastSequence

\* The offset of the newest batch or marker.
\* @type: PARTITION -> Int -> Int;
VARIABLE lastOffset

\* It is a marker.
\* @type: PARTITION -> Int -> Bool;
VARIABLE newestIsMarker

\* The coordinator epoch of the last marker; -1 before any.
\* @type: PARTITION -> Int -> Int;
VARIABLE markerCoordinatorEpoch

\* The first offset of the open transaction; -1 when none is open.
\* @type: PARTITION -> Int -> Int;
VARIABLE currentTxnFirstOffset

\* The offset after the last in each partition.
\* @type: PARTITION -> Int;
VARIABLE logEnd

\* The producer ids that each partition remembers.
\* @type: PARTITION -> Set(Int);
VARIABLE remembered

logVars == <<appendedEpoch, firstSequence, lastSequence, lastOffset, newestIsMarker, markerCoordinatorEpoch,
             currentTxnFirstOffset, logEnd>>

-----------------------------------------------------------------------------

With(f, x, value) == [y \in DOMAIN f \cup {x} |-> IF y = x THEN value ELSE f[y]]
Empty             == [x \in {} |-> 0]

\* A function of partitions with a new value for this producer.
Set(f, p, id, value) == [f EXCEPT ![p] = With(@, id, value)]

\* What the log had for it before.
Before(f, p, id) == IF id \in DOMAIN f[p] THEN f[p][id] ELSE -1

\* The sequence number that is n records after s: after the largest comes 0.
Advanced(s, n) == (s + n) % (MaxSequence + 1)

\* What the partition remembers of a producer: nothing, or what its log has.
Remembers(p, id) == id \in remembered[p]

InitLogs ==
    /\ appendedEpoch = [p \in Partitions |-> Empty]
    /\ firstSequence = [p \in Partitions |-> Empty]
    /\ lastSequence = [p \in Partitions |-> Empty]
    /\ lastOffset = [p \in Partitions |-> Empty]
    /\ newestIsMarker = [p \in Partitions |-> Empty]
    /\ markerCoordinatorEpoch = [p \in Partitions |-> Empty]
    /\ currentTxnFirstOffset = [p \in Partitions |-> Empty]
    /\ logEnd = [p \in Partitions |-> 0]
    /\ remembered = [p \in Partitions |-> {}]

\* A batch of a producer that the partition remembers: a new epoch begins at 0, within an epoch nothing is left out.
Follows(b) ==
    LET epoch == appendedEpoch[b.partition][b.id]
        last  == lastSequence[b.partition][b.id]
    IN  \/ b.epoch > epoch /\ b.first = 0
        \/ b.epoch = epoch /\ b.first = (IF last = -1 THEN 0 ELSE Advanced(last, 1))

\* The batch is appended; `opened` is the first offset of the transaction that it belongs to, -1 for none.
AppendBatch(b, opened) ==
    LET p == b.partition
    IN  /\ appendedEpoch' = Set(appendedEpoch, p, b.id, b.epoch)
        /\ firstSequence' = Set(firstSequence, p, b.id, b.first)
        /\ lastSequence' = Set(lastSequence, p, b.id, b.last)
        /\ lastOffset' = Set(lastOffset, p, b.id, logEnd[p])
        /\ newestIsMarker' = Set(newestIsMarker, p, b.id, FALSE)
        /\ markerCoordinatorEpoch' = Set(markerCoordinatorEpoch, p, b.id, Before(markerCoordinatorEpoch, p, b.id))
        /\ currentTxnFirstOffset' = Set(currentTxnFirstOffset, p, b.id, opened)
        /\ logEnd' = [logEnd EXCEPT ![p] = @ + 1]
        /\ remembered' = [remembered EXCEPT ![p] = @ \cup {b.id}]

=============================================================================
