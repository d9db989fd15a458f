-------------------- MODULE OneForNonLogged --------------------
\* A store that is not logged counts as one.
EXTENDS MCLagReport

BrokenLagOfNonLogged(k) == NonLoggedStores(k)

==============================================================================
