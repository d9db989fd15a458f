------------------------ MODULE BrokenOwnershipClaim ------------------------
(***************************************************************************)
(* Planted faults. Each operator is a fault, and takes the place of an     *)
(* operator of the specification: manifest.json says of which, and which   *)
(* definition TLC then finds violated.                                     *)
(***************************************************************************)
EXTENDS MCOwnershipClaim

\* The generation starts again when the last member leaves.
GenerationStartsAgain == 1

\* A client that rejoins sends the group's generation instead of the generation of its claims.
NamesTheGroupsGeneration(m) ==
    [claims |-> clientOwned[m] \cup remembered[m], generation |-> currentGeneration, given |-> given[m]]

\* If a partition has several claims, the assignor accepts the oldest.
OldestClaimWins(p) ==
    {m \in Claimants(p) : \A n \in Claimants(p) : subscriptions[m].generation <= subscriptions[n].generation}

\* The assignor assigns a partition to its next owner before the current owner was told to revoke it.
GivenAtOnce(f, p) == f[p] # {}

\* A dynamic member that does not rejoin in time stays in the group.
DynamicMembersStay ==
    /\ state = "PREPARING_REBALANCE"
    /\ joined # {}
    /\ members \ joined # {}
    /\ Disturb
    /\ Answer(Waiting)

\* A client keeps a partition that its assignment revoked.
KeepsWhatItLost(m) ==
    /\ state = "STABLE"
    /\ m \in members
    /\ clientState[m] = "COMPLETING_REBALANCE"
    /\ clientGeneration[m] = currentGeneration
    /\ clientState' = [clientState EXCEPT ![m] = "STABLE"]
    /\ heardGeneration' = [heardGeneration EXCEPT ![m] = currentGeneration]
    /\ clientOwned' = [clientOwned EXCEPT ![m] = @ \cup assigned[m]]
    /\ remembered' = [remembered EXCEPT ![m] = {}]
    /\ given' = [given EXCEPT ![m] = assigned[m]]
    /\ mustJoin' = IF JoinsAgain(m) THEN mustJoin \cup {m} ELSE mustJoin
    /\ UNCHANGED <<writtenVars, coordinatorVars, clientGeneration, hasMemberId, networkVars>>

\* The check at JoinGroup compares with the last generation that was written instead of the one that has begun.
ComparesWithTheWritten(m, s, named) ==
    IF named /\ m \notin members THEN "UNKNOWN_MEMBER_ID"
    ELSE IF s.generation # NoGeneration /\ s.generation < generation THEN "ILLEGAL_GENERATION"
    ELSE "NONE"

\* The coordinator accepts commits of every generation of a member.
OlderGenerationsAccepted(m) == m \in members

\* A client that must revoke a partition does not rejoin afterwards.
RevokesInSilence(m) == FALSE

=============================================================================
