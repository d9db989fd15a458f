----------------------------- MODULE MCLagReport -----------------------------
(***************************************************************************)
(* Bounds under which TLC explores every behaviour of LagReport. The       *)
(* marked steps as TLC's properties come from LagReportPropsMarked. Below  *)
(* them what only a model can be asked: which instances the leader may     *)
(* choose, and whether a rebalance ends.                                   *)
(***************************************************************************)
EXTENDS LagReportPropsMarked, TLC

\* Behaviours are followed up to this time, this number of rebalances, and this end of a changelog.
\* @type: Int;
CONSTANT TimeBound
\* @type: Int;
CONSTANT RebalanceBound
\* @type: Int;
CONSTANT EndBound

Bounded ==
    /\ now <= TimeBound
    /\ rebalances <= RebalanceBound
    /\ \A k \in Tasks : end[k] <= EndBound

Symmetry == Permutations(Instances)

-----------------------------------------------------------------------------
\* What the leader computes is what the definition of its rule says of the newest sum of an instance.
LeaderKeepsItsRule ==
    phase = "joining" /\ reporting = Threads =>
        \A k \in Tasks : \A i \in Instances :
            LET said == [report |-> i, reported |-> Reported(i, k),
                         offsetSum |-> IF ~Reported(i, k) THEN 0
                                       ELSE IF LatestOffset \in SumsOf(i, k) THEN LatestOffset
                                       ELSE Newest(SumsOf(i, k)),
                         endOffsetSum |-> end[k], loggedStores |-> LoggedStores(k),
                         nonLoggedStores |-> NonLoggedStores(k), loggedOffsetSum |-> 0]
                lag  == IF ZeroForNonLogged THEN ProposedTotalLag(said) ELSE ShippedTotalLag(said)
            IN  CASE lag = LatestOffset -> Lag(i, k) = 0
                  [] lag = -1           -> ~IsStateful(k)
                  [] OTHER              -> Lag(i, k) = lag

\* Zero is the additive identity: the two rules differ only on tasks without a logged store.
ZeroChangesNoTotal ==
    \A r \in lagReports : r.loggedStores > 0 => ProposedTotalLag(r) = ShippedTotalLag(r)

\* KIP-441: a task with no logged store is stateful, and all instances are equal candidates for it.
NonLoggedTasksAreStateful ==
    phase = "joining" => \A k \in NonLoggedTasks : IsStateful(k)
AllAreCandidatesForNonLogged ==
    phase = "joining" /\ reporting = Threads =>
        \A k \in NonLoggedTasks : Candidates(k) = Instances /\ \A i \in Instances : Lag(i, k) = 0

\* ... but equal candidates are all that they are: no task without a logged store leaves the instance that has its state.
NonLoggedStateStays ==
    \A a \in assignedTasks :
        a.assigned[2] \in NonLoggedTasks /\ ~a.directoryExists =>
            \A i \in Instances \ {a.assigned[1][1]} : a.assigned[2] \notin OnDisk(i)

\* No thread waits for a mutex that another one of its instance holds: that one lets go when it is assigned something,
\* and nobody is before all have reported.
NoThreadWaitsForItsOwnRebalance ==
    phase = "joining" => \A t \in Threads \ reporting : mutex[t[1]] \subseteq {t} \/ Protection # "mutex"

-----------------------------------------------------------------------------
(***************************************************************************)
(* What happens in the end. Threads report, hear of their assignment, and  *)
(* take their tasks up, the leader assigns, and a run of the cleaner ends. *)
(***************************************************************************)
FairSpec ==
    /\ ObservedInit
    /\ [][ObservedNext /\ Bounded']_observedVars
    /\ WF_vars(Assign)
    /\ \A t \in Threads : WF_vars(Receive(t)) /\ SF_vars(Report(t))
    /\ \A i \in Instances : WF_vars(FinishCleaning(i))

\* Every rebalance ends.
EveryRebalanceEnds == phase # "stable" ~> phase = "stable"

=============================================================================
