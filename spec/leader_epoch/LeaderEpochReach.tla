--------------------------- MODULE LeaderEpochReach ---------------------------
(***************************************************************************)
(* What must be reachable, so that no marked definition holds only because *)
(* the situation it speaks of never comes up. Each definition here claims  *)
(* that the situation is impossible; TLC must refute every one of them on  *)
(* the healthy model.                                                      *)
(***************************************************************************)
EXTENDS MCLeaderEpoch

Both(f) == DOMAIN f \cap DOMAIN f'

\* No client is told what is older than what it has.
NoOlderMetadataAcceptedReach == ~\E a \in metadataAnswers : OlderThanCached(a)

\* No offset is committed with the epoch of a later leader than the first.
CommittedLeaderEpochBoundReach == ~\E c \in committedOffsets : c.error = "NONE" /\ c.leaderEpoch > 0

\* No offset is committed with a topic id.
CommitToLiveIncarnationReach == ~\E c \in committedOffsets : c.error = "NONE" /\ c.byId

\* No consumer goes on to read.
NoOffsetOfEarlierIncarnationReach ==
    ~\E f \in fetchPositions : f.error = "NONE" /\ f.divergingEpoch = -1 /\ OfAnIncarnation(f)

\* There are no two partitions.
PartitionEpochsUniqueReach == Cardinality(DOMAIN partitionsWith) < 2

\* No topic is created again.
CreatedAgain            == \E t \in Both(newestTopicId) : newestTopicId'[t] # newestTopicId[t]
PartitionEpochGrowsReach == [][~CreatedAgain]_vars

\* No leader is elected after the first.
LeaderIsElected            == \E p \in Both(leaderEpoch) : leaderEpoch'[p] > leaderEpoch[p]
LeaderEpochNeverFallsReach == [][~LeaderIsElected]_vars

\* No broker registers again.
RegistersAgain             == \E b \in Both(brokerEpoch) : 0 < brokerEpoch[b] /\ brokerEpoch[b] < brokerEpoch'[b]
BrokerEpochNeverFallsReach == [][~RegistersAgain]_vars

\* No leader appends after another.
LaterLeaderAppends            == \E p \in Both(appendedLeaderEpoch) : appendedLeaderEpoch'[p] > appendedLeaderEpoch[p]
BatchLeaderEpochsInOrderReach == [][~LaterLeaderAppends]_vars

\* No leader after the first appends.
BatchLeaderEpochKnownReach == ~\E p \in DOMAIN appendedLeaderEpoch : appendedLeaderEpoch[p] > 0

\* No epoch begins behind the start of a log.
CheckpointAgreesReach == ~\E e \in checkpointEntries : e.startOffset > 0

=============================================================================
