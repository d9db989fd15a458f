--------------------- MODULE MutexNotShared ---------------------
\* A shared mutex that only one thread may hold: the mutex of the proposal.
EXTENDS MCLagReport

BrokenMutexIsFree(t) == mutex[t[1]] \subseteq {t} /\ ~cleaning[t[1]]

==============================================================================
