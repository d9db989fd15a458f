------------------------- MODULE MCIdempotentProducer -------------------------
(***************************************************************************)
(* Bounds under which TLC explores every behaviour of IdempotentProducer,  *)
(* and the marked definitions that speak of what a partition holds.        *)
(***************************************************************************)
EXTENDS IdempotentProducer, BatchRules, TLC

\* Behaviours are followed up to this many records, producer ids, batches in a partition, and epoch.
\* @type: Int;
CONSTANT SentBound
\* @type: Int;
CONSTANT IdBound
\* @type: Int;
CONSTANT OffsetBound
\* @type: Int;
CONSTANT EpochBound

Bounded ==
    /\ sent <= SentBound
    /\ issuedIds <= IdBound
    /\ \A i \in Producers : identity[i].epoch <= EpochBound
    /\ \A p \in Partitions : logEnd[p] <= OffsetBound

\* No producer or partition is special.
Symmetry == Permutations(Producers) \cup Permutations(Partitions)

-----------------------------------------------------------------------------
(***************************************************************************)
(* What partitions show: the newest epoch of a producer, if it gave that   *)
(* to itself after another one there.                                      *)
(***************************************************************************)

\* The epochs of which p has batches of this producer.
EpochsIn(p, id) == {log[p][n].epoch : n \in {m \in DOMAIN log[p] : log[p][m].id = id}}

Greatest(S) == CHOOSE x \in S : \A y \in S : y <= x

\* The batches of an epoch, and those among them whose records an earlier epoch has, too.
BatchesOf(p, id, epoch) == {n \in DOMAIN log[p] : log[p][n].id = id /\ log[p][n].epoch = epoch}
BatchesAgain(p, id, epoch) ==
    {n \in BatchesOf(p, id, epoch) :
        \E m \in DOMAIN log[p] : log[p][m].id = id /\ log[p][m].epoch < epoch /\ log[p][m].record = log[p][n].record}

LocalBump(p, id) ==
    LET newest == Greatest(EpochsIn(p, id))
    IN  [partition     |-> p,
         producerId    |-> id,
         producerEpoch |-> newest,
         previousEpoch |-> Greatest(EpochsIn(p, id) \ {newest}),
         firstOffset   |-> -Greatest({-n : n \in BatchesOf(p, id, newest)}) - 1,
         batches       |-> Cardinality(BatchesOf(p, id, newest)),
         writtenTwice  |-> BatchesAgain(p, id, newest) # {}]

LocalBumps ==
    UNION {{LocalBump(p, id) : id \in {k \in DOMAIN appendedEpoch[p] : Cardinality(EpochsIn(p, k)) > 1}} :
              p \in Partitions}

-----------------------------------------------------------------------------
INSTANCE IdempotentProducerRules WITH localBumps <- LocalBumps

NoWriteAfterFenceProp            == [][NoWriteAfterFence]_vars
NewEpochStartsAtSequenceZeroProp == [][NewEpochStartsAtSequenceZero]_vars
NoSequenceGapProp                == [][NoSequenceGap]_vars
NoSequenceResetProp              == [][NoSequenceReset]_vars

\* No epoch is begun with records that an earlier one has.
NoRecordsWrittenTwiceReach == LocalBumps = {}

-----------------------------------------------------------------------------
\* A record that was acknowledged is in the partition. (A client that numbers anew inside an epoch may have a batch
\* acknowledged that the partition takes for another one.)
AcknowledgedIsWritten ==
    \A r \in acknowledged : \E p \in Partitions : \E n \in DOMAIN log[p] : log[p][n].record = r

\* No record is in a partition twice, under whatever producer id and epoch.
WrittenOnce ==
    \A p \in Partitions : \A n, m \in DOMAIN log[p] : log[p][n].record = log[p][m].record => n = m

\* No two producers share a producer id.
IdsOfTheirOwn ==
    \A i, j \in Producers : identity[i].id = identity[j].id /\ identity[i].id # -1 => i = j

=============================================================================
