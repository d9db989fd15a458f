---------------------- MODULE EndsReported ----------------------
\* A thread reports the ends of the changelogs.
EXTENDS MCLagReport

BrokenSumToReport(i, k) == end[k]

==============================================================================
