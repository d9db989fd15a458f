------------------------- MODULE MCIdempotentProducer -------------------------
(***************************************************************************)
(* Bounds under which TLC explores every behaviour of IdempotentProducer,  *)
(* and the marked definitions of ProducerEpochProps that speak of what a   *)
(* partition holds: the same text, with nothing known to any coordinator.  *)
(***************************************************************************)
EXTENDS IdempotentProducer, TLC

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
Marked == INSTANCE ProducerEpochProps WITH
    TransactionalId <- "", Instances <- {}, Release <- "4.3", TransactionVersion <- 2, ResetsSequences <- FALSE,
    VerifiedBefore <- FALSE, RepeatedMarkers <- FALSE, RepeatedEndTxns <- FALSE, IdsExpire <- FALSE, Snapshots <- FALSE, BatchSizes <- {1},
    EpochReserve <- 0,
    status <- Empty, producerId <- Empty, producerEpoch <- Empty, nextProducerId <- Empty, coordinatorEpoch <- Empty,
    transactionVersion <- Empty, initProducerIds <- {}, endTxns <- {}, addPartitionsToTxns <- {},
    transactionMarkers <- {}, partitionTransactions <- {}, producerSnapshots <- {}, term <- 0, lastEpoch <- -1,
    previousId <- -1, held <- [lastEpoch |-> -1, previousId |-> -1, nextId |-> -1], transactionPartitions <- {},
    pendingMarkers <- {}, lateMarkers <- {}, bumpedBy <- {}, instances <- Empty, added <- Empty,
    nextSequence <- Empty, requests <- {}, lateBatches <- {}, guards <- {}

NoWriteAfterFenceProp            == [][Marked!NoWriteAfterFence]_vars
NewEpochStartsAtSequenceZeroProp == [][Marked!NewEpochStartsAtSequenceZero]_vars
NoSequenceGapProp                == [][Marked!NoSequenceGap]_vars
NoSequenceResetProp              == [][Marked!NoSequenceReset]_vars
NoRecordsWrittenTwice            == Marked!NoRecordsWrittenTwice

\* No epoch is begun with records that an earlier one has.
NoRecordsWrittenTwiceReach == localBumps = {}

-----------------------------------------------------------------------------
\* What a producer was told is written, is written. (Who numbers anew inside an epoch is told so of a batch that the
\* partition takes for another one.)
AcknowledgedIsWritten ==
    \A r \in acknowledged : \E p \in Partitions : \E n \in DOMAIN log[p] : log[p][n].record = r

\* No record is in a partition twice, under whatever producer id and epoch.
WrittenOnce ==
    \A p \in Partitions : \A n, m \in DOMAIN log[p] : log[p][n].record = log[p][m].record => n = m

\* No two producers share a producer id.
IdsOfTheirOwn ==
    \A i, j \in Producers : identity[i].id = identity[j].id /\ identity[i].id # -1 => i = j

=============================================================================
