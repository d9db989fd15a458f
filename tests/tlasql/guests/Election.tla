---- MODULE Election ----
(* Votes by node and term: functions of pairs, written f[a, b] and f[<<a, b>>]. *)
EXTENDS Integers, FiniteSets, TLC
CONSTANTS Node, Quorums
ASSUME \A P, Q \in Quorums : P \cap Q # {}
VARIABLES votes, ballots, links
Voted(n, t) == {m \in Node : <<m, t>> \in DOMAIN votes /\ votes[<<m, t>>] = n}
Elected(n, t) == \E Q \in Quorums : Q \subseteq Voted(n, t)
Terms == {k[2] : k \in DOMAIN votes}
OnePerTerm == \A t \in Terms : Cardinality({n \in Node : Elected(n, t)}) <= 1
Candidates == \A k \in DOMAIN votes : votes[k] \in Node
SelfVote == \A <<m, t>> \in DOMAIN votes : t > 0 => votes[m, t] # m
Grid == \A n, m \in Node : <<n, m>> \in DOMAIN links => (links[n, m] <=> links[m, n])
Full == DOMAIN links = Node \X Node => \A p \in Node \X Node : links[p]
Highest == \A n \in Node : n \in DOMAIN ballots => \A t \in DOMAIN ballots[n] : ballots[n][t].count = Cardinality(Voted(n, t))
Isolated == {n \in Node : \A m \in Node \ {n} : <<n, m>> \notin DOMAIN links \/ ~links[<<n, m>>]} # Node
Cut(n, m) == links' = [links EXCEPT ![n, m] = FALSE, ![m, n] = FALSE] /\ UNCHANGED votes
Vote == \E n, m \in Node, t \in 0 .. 2 : <<m, t>> \notin DOMAIN votes /\ votes' = votes @@ (<<m, t>> :> n) /\ UNCHANGED links
Next == Vote \/ \E n, m \in Node : Cut(n, m)
VotesStay == \A k \in DOMAIN votes : k \in DOMAIN votes' /\ votes'[k] = votes[k]
THEOREM [](OnePerTerm /\ Candidates /\ SelfVote /\ Grid /\ Full /\ Highest /\ Isolated)
THEOREM [][Next]_<<votes, links>> /\ [][VotesStay]_votes
====
