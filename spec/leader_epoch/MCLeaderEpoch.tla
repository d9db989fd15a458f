---------------------------- MODULE MCLeaderEpoch ----------------------------
(***************************************************************************)
(* Bounds under which TLC explores every behaviour of LeaderEpoch. The     *)
(* marked steps as TLC's properties come from LeaderEpochPropsMarked.      *)
(* Below them what only a model can be asked: what a position is of, and   *)
(* which records are still there, no client says.                          *)
(***************************************************************************)
EXTENDS LeaderEpochPropsMarked, TLC

\* Behaviours are followed up to this many records of the metadata log, this topic id, this leader epoch, and this many
\* records in a partition.
\* @type: Int;
CONSTANT MetadataBound
\* @type: Int;
CONSTANT IdBound
\* @type: Int;
CONSTANT EpochBound
\* @type: Int;
CONSTANT OffsetBound

Bounded ==
    /\ Len(metadataLog) <= MetadataBound + 1
    /\ issuedIds <= IdBound
    /\ \A p \in DOMAIN leaderEpoch : leaderEpoch[p] <= EpochBound
    /\ \A p \in DOMAIN log : Len(log[p]) <= OffsetBound

\* No client is special, and no broker but the coordinator.
Symmetry == Permutations(Clients \ OldClients) \cup Permutations(Brokers \ {Coordinator})

-----------------------------------------------------------------------------
\* What clients and brokers do is what the definitions of their rule say. KIP-232 refuses an answer as a whole.
Refused(a)    == IF Rule = "kip_232" THEN OutdatedWithMax(a) = "OUTDATED" ELSE Outdated(a) = "OUTDATED"
ClientsKeepTheirRule ==
    \A a \in metadataAnswers :
        a.accepted <=> IF Rule = "shipped" THEN ShippedMetadataRule(a) = "NONE"
                       ELSE \A other \in metadataAnswers : ~Refused(other)
BrokersKeepTheirRule ==
    /\ \A f \in fetchPositions :
        IF Rule = "shipped" THEN f.error \in {ShippedFetchRule(f), "OFFSET_OUT_OF_RANGE"}
        ELSE (f.error = "INVALID_PARTITION_EPOCH") <=> (FetchIncarnation(f) = "INVALID_PARTITION_EPOCH")
    /\ ~LaggingBrokers => \A c \in committedOffsets : Rule = "shipped" => c.error = ShippedCommitRule(c)

\* A client that sends no epoch meets no rule of the proposal: for old clients everything is as it was.
OldClientsAreServedAsBefore ==
    /\ \A a \in metadataAnswers : ~a.hasLeaderEpochs => a.accepted /\ OutdatedWithMax(a) = "NONE"
    /\ \A f \in fetchPositions : f.lastFetchedEpoch = -1 => FetchIncarnation(f) = "NONE"
    /\ \A c \in committedOffsets : c.leaderEpoch = -1 => CommitIncarnation(c) = "NONE"

\* No offset of an earlier incarnation is committed as one of the live topic.
NoOffsetPassedOn ==
    \A c \in committedOffsets : c.error = "NONE" => c.offsetPartitionEpoch = c.livePartitionEpoch

\* What older metadata a client may be told: of an earlier incarnation, of an earlier leader.
NoEarlierIncarnationAccepted ==
    \A a \in metadataAnswers : a.told /\ a.cached /\ a.partitionEpoch < a.cachedPartitionEpoch => ~a.accepted
NoEarlierLeaderAccepted ==
    \A a \in metadataAnswers :
        a.told /\ a.partitionEpoch = a.cachedPartitionEpoch /\ a.leaderEpoch < a.cachedLeaderEpoch => ~a.accepted

\* No consumer that begins from a committed offset reads another incarnation than the offset is of.
NoStoppedConsumerSkips ==
    \A c \in Clients : \A n \in Numbers :
        Knows(c, n) /\ ~position[c][n].set /\ CommittedFor(c, n).set /\ Has(Newest, n)
        /\ cache[c][n].topicId = Newest.topicId
        => committed[n].incarnation = PartitionEpochIn(Newest, n)

\* A deletion takes no offsets of the topic's successor.
NoOffsetIsTakenAlong ==
    \A n \in Numbers :
        committed[n].set /\ committed'[n] = NoOffset => committed[n].incarnation # PartitionEpochIn(Newest, n)
NoOffsetIsTakenAlongProp == [][NoOffsetIsTakenAlong]_committed

\* No consumer reads on past a truncation: the record before its position is still there.
NoReadingPastTruncation ==
    \A c \in Clients : \A n \in Numbers : \A b \in Brokers :
        LET at == position[c][n]
            p  == Partition(View(b), n)
        IN  /\ Knows(c, n) /\ at.set /\ at.offset > 0
            /\ Has(View(b), n) /\ at.incarnation = PartitionEpochIn(View(b), n)
            /\ FetchError(c, b, n) = "NONE" /\ ~Diverges(c, p, n)
            => log[p][at.offset] = at.record

-----------------------------------------------------------------------------
(***************************************************************************)
(* What happens in the end. Brokers apply what is in the metadata log, and *)
(* a client asks each of them again and again. Nothing is asked of the     *)
(* controller: its log is bounded.                                         *)
(***************************************************************************)
FairSpec ==
    /\ ObservedInit
    /\ [][ObservedNext /\ Bounded']_observedVars
    /\ \A b \in Brokers : WF_vars(Apply(b))
    /\ \A c \in Clients : \A b \in Brokers : WF_vars(Refresh(c, b))

\* The client knows what the metadata log says.
UpToDate(c) ==
    \A n \in Numbers :
        IF Has(Newest, n)
        THEN /\ Knows(c, n)
             /\ cache[c][n].partitionEpoch = PartitionEpochIn(Newest, n)
             /\ cache[c][n].leaderEpoch = LeaderEpochIn(Newest, n)
        ELSE ~Knows(c, n)

\* When the metadata log does not move any more, every client comes to know it, and stays so: nobody is left behind.
NobodyIsLeftBehind == \A c \in Clients : <>[]UpToDate(c)

=============================================================================
