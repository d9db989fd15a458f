---- MODULE Lease ----
EXTENDS Integers, FiniteSets
\* @type: Int;
CONSTANT MaxEpoch
ASSUME MaxEpoch > 0
\* @type: NODE -> Int;
VARIABLE epoch
\* @type: Int;
VARIABLE term
\* @type: NODE -> Set(RES);
VARIABLE owns

\* Nobody is ahead of the term.
\* @invariant("behind", "critical", "node")
Behind == \A n \in DOMAIN epoch : epoch[n] <= term

\* A resource has one owner.
\* @invariant("one_owner", "critical", "resource")
OneOwner == \A n, m \in DOMAIN owns : n # m => owns[n] \cap owns[m] = {}

\* Epochs never fall.
\* @step("rises", "warning", "node")
Rises == \A n \in DOMAIN epoch \cap DOMAIN epoch' : epoch'[n] >= epoch[n]

\* @invariant("bounded", "info", "node")
Bounded == \A n \in DOMAIN epoch : epoch[n] <= MaxEpoch
====
