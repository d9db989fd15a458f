---------------------------- MODULE LagReportReach ----------------------------
(***************************************************************************)
(* What must be reachable, so that no marked definition holds only because *)
(* the situation it speaks of never comes up. Each definition here claims  *)
(* that the situation is impossible; TLC must refute every one of them on  *)
(* the healthy model.                                                      *)
(***************************************************************************)
EXTENDS MCLagReport

\* Nothing is reported of a task with logged stores but that it runs.
ReportedSumIsOfLoggedStoresReach == ~\E r \in lagReports : r.reported /\ r.offsetSum > 0 /\ r.loggedStores > 0

\* Nothing is reported of a task with other stores.
ZeroIsTheIdentityReach == ~\E r \in lagReports : r.reported /\ r.offsetSum > 0 /\ r.nonLoggedStores > 0

\* The cleaner deletes nothing.
NoCleaningWhileLagIsReportedReach == ~\E d \in deletions : ByCleaner(d)

\* The cleaner deletes nothing that was let go of long ago.
NoCleaningWithinTheDelayReach == ~\E d \in deletions : ByCleaner(d) /\ d.sinceRelease > d.cleanupDelay

\* No directory that was there goes.
DirectoryIsDeleted ==
    \E d \in DOMAIN deletedBy \cap DOMAIN deletedBy' :
        deletedBy'[d] # deletedBy[d] /\ deletedBy'[d] = "cleaner"
NoLockedDirectoryDeletedReach == [][~DirectoryIsDeleted]_vars

\* No task is assigned because of a report.
AssignedDirectoryExistsReach == ~\E a \in assignedTasks : a.onReportedLag

=============================================================================
