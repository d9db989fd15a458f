------------------------- MODULE BrokenLeaderEpoch -------------------------
(***************************************************************************)
(* Planted faults. Each operator is a fault, and takes the place of an     *)
(* operator of the specification: manifest.json says of which, and which   *)
(* definition TLC then finds violated.                                     *)
(***************************************************************************)
EXTENDS MCLeaderEpoch

\* A client of the proposal does not compare the maximum.
MaximumNotCompared(w) == FALSE

\* A deletion does not increase the counter of partition epochs.
DeletionNotCounted == Newest.maxPartitionEpoch

\* A client commits the epoch after the one of the last record it read.
EpochsMadeUp(c, n) == position[c][n].leaderEpoch + 1

\* The coordinator accepts every topic id.
CommittedIdNotCompared(c, n) == "NONE"

\* A client of the proposal does not compare the partition epoch of an answer with that of its offset.
AnswersNotCompared(c, b, n) == FALSE

\* Offsets of the proposal are stored without their partition epoch.
StoredWithoutPartitionEpoch(c, n, id, epoch) ==
    LET at == position[c][n]
    IN  [set |-> TRUE, offset |-> at.offset, leaderEpoch |-> epoch, partitionEpoch |-> -1, topicId |-> id,
         incarnation |-> at.incarnation, record |-> at.record]

\* A partition that is added to a topic gets the newest partition epoch once more.
ExpansionNotCounted ==
    IF Newest.topicId = 0 THEN Newest.maxPartitionEpoch + 1 ELSE Newest.maxPartitionEpoch

\* The counter of partition epochs starts again when the topic is deleted.
PartitionEpochsStartAgain == 0

\* The second election uses the first leader epoch again.
LeaderEpochStartsAgain(p) == IF leaderEpoch[p] = 1 THEN 0 ELSE leaderEpoch[p] + 1

\* Every second registration of a broker gets epoch 0.
BrokerEpochStartsAgain(b) == IF brokerEpoch[b] > 0 THEN 0 ELSE Len(metadataLog)

\* A leader that was deposed after the first record continues to write at its epoch.
DeposedLeaderWrites(p) ==
    IF Len(log[p]) = 1 THEN 0 ELSE leaderEpoch[p]

\* A leader appends at an epoch that it was not given.
LeaderTakesAnEpoch(p) == leaderEpoch[p] + 1

\* The entries that a truncation contradicts stay in the checkpoint.
CheckpointNotTruncated(entries, epoch, start) ==
    Append(entries, [leaderEpoch |-> epoch, startOffset |-> start])

\* A leader does not compare the epoch of the last record that was fetched.
DivergenceNotReported(c, p, n) == FALSE

\* A shipped client accepts every answer.
LeaderEpochsNotCompared(w) == TRUE

\* An old client is refused by the rule for new ones.
OldClientsRefused(c, words) ==
    IF \E w \in words : OlderPartition(w) \/ OlderMaximum(w) THEN {} ELSE words

\* A client compares only leader epochs, whatever the topic id (KAFKA-12257).
TopicIdsNotCompared(w) ==
    w.told => ~w.cached \/ w.leaderEpoch >= w.cachedLeaderEpoch

\* A client of the proposal accepts only answers with a larger maximum.
EqualMaximumRefused(w) == w.maxPartitionEpoch <= w.cachedMaxPartitionEpoch

=============================================================================
