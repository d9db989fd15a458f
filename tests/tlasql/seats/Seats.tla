---- MODULE Seats ----
(* Who holds which seat of which show: a function of pairs, whose parts are columns of a booking service. *)
EXTENDS Integers, FiniteSets
\* @type: <<SHOW, Int>> -> GUEST;
VARIABLE holder
\* @type: <<SHOW, Int>> -> Int;
VARIABLE paid
\* @type: SHOW -> Set(GUEST);
VARIABLE waiting

At(s, n) == IF <<s, n>> \in DOMAIN holder THEN holder[s, n] ELSE "nobody"
Shows == {k[1] : k \in DOMAIN holder}

\* @invariant("paid_for", "critical", "seat")
PaidFor == \A k \in DOMAIN holder : k \in DOMAIN paid /\ paid[k] > 0

\* @invariant("one_seat", "warning", "guest")
OneSeat == \A s \in Shows : \A n, m \in {k[2] : k \in {l \in DOMAIN holder : l[1] = s}} :
              holder[s, n] = holder[<<s, m>>] => n = m

\* @invariant("no_need_to_wait", "info", "show")
NoNeedToWait == \A s \in DOMAIN waiting : waiting[s] # {} => Cardinality({k \in DOMAIN holder : k[1] = s}) >= 2

\* @step("kept", "critical", "seat")
Kept == \A k \in DOMAIN holder \cap DOMAIN holder' : holder'[k] = holder[k] \/ paid'[k] # paid[k]
====
