------------------------------- MODULE Traps -------------------------------
(***************************************************************************)
(* Families of definitions whose verdicts were wrong once, or nearly: what *)
(* TLC says of each, in each of many random states, is what SQL says, or   *)
(* SQL does not know; where TLC stops, SQL never knows.                    *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

\* @type: KEY;
CONSTANT Nobody
\* @type: KEY;
CONSTANT Other
\* @type: Set(KEY);
CONSTANT Keys

\* @type: Int;
VARIABLE n
\* @type: Int;
VARIABLE N
\* @type: Int;
VARIABLE verdict
\* @type: Int;
VARIABLE x_1
\* @type: Bool;
VARIABLE b
\* @type: KEY;
VARIABLE key
\* @type: Str;
VARIABLE tag
\* @type: Set(Int);
VARIABLE s
\* @type: Set(Int);
VARIABLE cluster
\* @type: Set(KEY);
VARIABLE live
\* @type: KEY -> Int;
VARIABLE f
\* @type: Int -> Int;
VARIABLE g
\* @type: KEY -> Set(Int);
VARIABLE owned
\* @type: {at: Int, At: Int, ok: Bool};
VARIABLE r
\* @type: Seq(Int);
VARIABLE q
\* @type: Set({at: Int, At: Int, ok: Bool});
VARIABLE msgs
\* @type: <<Int, Bool>>;
VARIABLE two

----------------------------------------------------------------------------
\* A step stutters as a whole: all variables it speaks of, not those of each clause.

\* @step("a_two_clauses", "info", "state")
TwoClauses == n' = n + 1 /\ \A x \in s : x \in s'

\* @step("a_three_clauses", "info", "state")
ThreeClauses ==
    /\ verdict' > verdict
    /\ \A x \in cluster : x \in cluster'
    /\ \A m \in DOMAIN f \cap DOMAIN f' : f'[m] > f[m]

Differ == n # N

\* @step("a_when", "info", "state") @when("Differ")
When == verdict' = verdict + 1 /\ \A x \in s : x \in s'

\* @step("a_either", "info", "state")
Either == n' = n + 1 \/ \A x \in s : x \in s'

\* @step("a_some", "info", "state")
SomeElement == \E x \in {0, 1} : (n' = n + x) /\ \A y \in s : y + x \in s'

\* @step("a_let", "info", "state")
LetOf == LET grown == s \subseteq s' IN n' > n /\ grown /\ \A y \in cluster : y \in cluster'

\* @step("a_boxed", "info", "state")
Boxed == [n' = n + 1]_N /\ \A y \in s : y \in s'

\* @step("a_unread", "info", "state")
Unread == IsFiniteSet(cluster) /\ n' > n

\* @step("a_printed", "info", "state")
Printed == PrintT(<<"seen", key>>) /\ n' > n

\* @step("a_asserted", "info", "state")
Asserted == Assert(n' >= 0, <<"of", live>>) /\ n' > n

First(x, y) == x
\* @step("a_unused_argument", "info", "state")
UnusedArgument == First(n', N) = n + 1

\* @step("a_unused_let", "info", "state")
UnusedLet == LET more == cluster IN n' = n + 1

\* @step("a_keyed", "info", "state")
Keyed == \A m \in DOMAIN f \cap DOMAIN f' : f'[m] = f[m] + 1

\* @step("a_undefined_and_still", "info", "state")
UndefinedAndStill == f'[key] >= f[key]

\* @step("a_clauses_undefined", "info", "state")
ClausesUndefined == (\A m \in live : f'[m] >= f[m]) /\ n' = n + 1

\* @step("a_implied", "info", "state")
Implied == (\E x \in s : x > n) => n' > n /\ \A y \in s : y \in s'

----------------------------------------------------------------------------
\* Recursion that is a fold, at its edges.

RECURSIVE Below(_)
Below(x) == IF x = 0 THEN 0 ELSE x + Below(x - 1)
\* @invariant("b_never_ends", "info", "state")
NeverEnds == Below(n - 2) >= N

RECURSIVE Count(_, _)
Count(x, y) == IF x > y THEN 0 ELSE 1 + Count(x + 1, y)
\* @invariant("b_counted", "info", "state")
Counted == Count(n, N) <= verdict

RECURSIVE SumOf(_)
SumOf(S) == IF S = {} THEN 0 ELSE LET e == CHOOSE x \in S : TRUE IN e + SumOf(S \ {e})
\* @invariant("b_sum_of_duplicates", "info", "state")
SumOfDuplicates == SumOf(s) = SumOf(cluster)

RECURSIVE SumAt(_)
SumAt(S) == IF S = {} THEN 0 ELSE LET e == CHOOSE x \in S : TRUE IN g[e] + SumAt(S \ {e})
\* @invariant("b_sum_of_images", "info", "state")
SumOfImages == SumAt(s) > n

RECURSIVE AllOf(_)
AllOf(S) == IF S = {} THEN g[n] > 0 ELSE LET e == CHOOSE x \in S : TRUE IN e > N /\ AllOf(S \ {e})
\* @invariant("b_end_without_value", "info", "state")
EndWithoutValue == AllOf(s)

RECURSIVE Total(_, _)
Total(t, found) == IF t = <<>> THEN found ELSE Total(Tail(t), found + Head(t))
\* @invariant("b_accumulated", "info", "state")
Accumulated == Total(q, n) > verdict

RECURSIVE Largest(_)
Largest(S) == IF S = {} THEN 0 ELSE LET e == CHOOSE x \in S : TRUE
                                        rest == Largest(S \ {e})
                                    IN IF e > rest THEN e ELSE rest
\* @invariant("b_largest", "info", "state")
LargestOf == Largest(s) >= Largest(cluster)

\* @invariant("b_function", "info", "state")
OfAFunction == LET h[x \in 0 .. 2] == IF x = 0 THEN 0 ELSE x + h[x - 1] IN h[n] > N

Shadow(T) == \E S \in {T, s} : Cardinality(S) > 1
RECURSIVE Shadowed(_)
Shadowed(S) == IF S = {} THEN 0 ELSE LET e == CHOOSE x \in S : TRUE IN (IF Shadow({e}) THEN e ELSE 1) + Shadowed(S \ {e})
\* @invariant("b_shadowed", "info", "state")
ShadowedFold == Shadowed(cluster) > n

RECURSIVE Product(_)
Product(S) == IF S = {} THEN 1 ELSE LET e == CHOOSE x \in S : TRUE IN (e + 1) * Product(S \ {e})
\* @invariant("b_product", "info", "state")
ProductOver == Product(s) > n + Product(cluster)
RECURSIVE Factorial(_)
Factorial(x) == IF x <= 1 THEN 1 ELSE x * Factorial(x - 1)
\* @invariant("b_factorial", "info", "state")
FactorialOf == Factorial(n) > verdict
power[x \in 0 .. 5] == IF x = 0 THEN 1 ELSE 2 * power[x - 1]
\* @invariant("b_power", "info", "state")
PowerOf == power[n] > N
RECURSIVE Found(_, _)
Found(t, x) == IF t = <<>> THEN FALSE ELSE IF Head(t) = x THEN TRUE ELSE Found(Tail(t), x)
\* @invariant("b_found", "info", "state")
FoundIn == Found(q, n)
RECURSIVE Each(_)
Each(t) == IF Len(t) = 0 THEN TRUE ELSE IF g[Head(t)] > n THEN Each(Tail(t)) ELSE FALSE
\* @invariant("b_each", "info", "state")
EachOf == Each(q)
RECURSIVE None(_)
None(S) == IF S = {} THEN b ELSE LET e == CHOOSE x \in S : TRUE IN IF e > n THEN FALSE ELSE None(S \ {e})
\* @invariant("b_none", "info", "state")
NoneOf == None(cluster)
RECURSIVE Greatest(_, _)
Greatest(t, x) == IF t = <<>> THEN x ELSE IF Head(t) > x THEN Greatest(Tail(t), Head(t)) ELSE Greatest(Tail(t), x)
\* @invariant("b_greatest", "info", "state")
GreatestOf == Greatest(q, n) <= N
RECURSIVE CountIn(_, _, _)
CountIn(t, x, found) ==
    IF t = <<>> THEN found ELSE IF Head(t) = x THEN CountIn(Tail(t), x, found + 1) ELSE CountIn(Tail(t), x, found)
\* @invariant("b_among", "info", "state")
CountedIn == CountIn(q, n, 0) = 1
RECURSIVE Gathered(_, _, _)
Gathered(Op(_, _), base, S) ==
    IF S = {} THEN base ELSE LET e == CHOOSE x \in S : TRUE IN Op(e, Gathered(Op, base, S \ {e}))
Larger(x, y) == IF x > y THEN x ELSE y
RECURSIVE Along(_, _, _)
Along(Op(_, _), found, t) == IF t = <<>> THEN found ELSE Along(Op, Op(found, Head(t)), Tail(t))
\* @invariant("b_passed_lambda", "info", "state")
PassedLambda == Gathered(LAMBDA x, y : x + y, 0, s) > n
\* @invariant("b_passed_operator", "info", "state")
PassedOperator == Gathered(Larger, n, cluster) > N
\* @invariant("b_passed_over_keys", "info", "state")
PassedOverKeys == Gathered(LAMBDA m, y : f[m] + y, 0, DOMAIN f) >= verdict
\* @invariant("b_passed_along", "info", "state")
PassedAlong == Along(LAMBDA found, x : IF x = n THEN found ELSE found \cup {x}, {}, q) = s
\* @invariant("b_passed_balance", "info", "state")
PassedBalance == Along(LAMBDA found, x : IF x > n THEN found + x - 1 ELSE found - x, N, q) >= verdict
RECURSIVE Left(_)
Left(S) == IF S = {} THEN 5 ELSE LET e == CHOOSE x \in S : TRUE IN Left(S \ {e}) - g[e]
\* @invariant("b_left", "info", "state")
LeftOver == Left(s) > n
RECURSIVE Balanced(_, _)
Balanced(t, x) ==
    IF t = <<>> THEN 0
    ELSE LET e == Head(t)  rest == Balanced(Tail(t), x)
         IN CASE e = x -> rest [] e > x -> rest + e [] e = g[x] -> rest - 3 [] OTHER -> rest - e
\* @invariant("b_balanced", "info", "state")
BalancedIn == Balanced(q, n) < N
RECURSIVE Fibonacci(_)
Fibonacci(x) == IF x < 2 THEN x ELSE Fibonacci(x - 1) + Fibonacci(x - 2)
\* @invariant("b_unwound", "info", "state")
Unwound == Fibonacci(4) > n
RECURSIVE Reached(_, _)
Reached(S, steps) == IF steps = 0 THEN S ELSE Reached(S \cup {g[x] : x \in S \cap DOMAIN g}, steps - 1)
\* @invariant("b_reached", "info", "state")
ReachedIn == N \in Reached({n}, 2)
RECURSIVE Halved(_, _)
Halved(x, steps) == CASE steps > 2 -> x [] steps = 2 -> Halved(x \div 2, steps + 1) [] OTHER -> Halved(x - 1, steps + 1)
\* @invariant("b_halved", "info", "state")
HalvedOf == Halved(n, 1) = N

----------------------------------------------------------------------------
\* A set holds each element once, whatever the table says.

\* @invariant("c_size", "info", "state")
Size == Cardinality(s) <= 2
\* @invariant("c_size_of_keys", "info", "state")
SizeOfKeys == Cardinality(live) = Cardinality(DOMAIN f)
\* @invariant("c_size_of_records", "info", "state")
SizeOfRecords == Cardinality(msgs) = n
\* @invariant("c_inside", "info", "state")
SizeInside == \A m \in DOMAIN owned : Cardinality(owned[m]) < 2
\* @invariant("c_union", "info", "state")
SizeOfUnion == Cardinality(s \cup cluster) = n
\* @invariant("c_subsets", "info", "state")
Subsets == Cardinality(SUBSET {n, N}) = 2
\* @invariant("c_filter", "info", "state")
SizeOfFilter == Cardinality({x \in s : x > 0}) = 1
\* @invariant("c_chosen", "info", "state")
Chosen == (CHOOSE x \in s : TRUE) = n
\* @invariant("c_image", "info", "state")
Image == Cardinality({x % 2 : x \in s}) = 1
\* @invariant("c_sets_of_sets", "info", "state")
SetsOfSets == Cardinality({owned[m] : m \in DOMAIN owned}) = Cardinality(DOMAIN owned)
\* @invariant("c_domain", "info", "state")
OfDomains == Cardinality(DOMAIN ([x \in s |-> n] @@ [x \in cluster |-> N])) > n
\* @invariant("c_equal", "info", "state")
EqualSets == s = cluster \/ Cardinality(s) # Cardinality(cluster)

----------------------------------------------------------------------------
\* What TLC cannot evaluate is unknown.

\* @invariant("d_in_int", "info", "state")
InInt == g[1] \in Int
\* @invariant("d_in_nat", "info", "state")
InNat == f[key] \in Nat
\* @invariant("d_chosen_from_nothing", "info", "state")
ChosenFromNothing == (CHOOSE x \in s : TRUE) \in s
\* @invariant("d_chosen_unmet", "info", "state")
ChosenUnmet == (CHOOSE x \in s : x > n) \in s
\* @invariant("d_left_and", "info", "state")
LeftAnd == g[n] > 0 /\ b
\* @invariant("d_right_and", "info", "state")
RightAnd == b /\ g[n] > 0
\* @invariant("d_left_or", "info", "state")
LeftOr == g[n] > 0 \/ b
\* @invariant("d_right_or", "info", "state")
RightOr == b \/ g[n] > 0
\* @invariant("d_left_implies", "info", "state")
LeftImplies == g[n] > 0 => b
\* @invariant("d_equivalent", "info", "state")
EquivalentToUndefined == b <=> f[key] > n
\* @invariant("d_if_alike", "info", "state")
IfAlike == (IF g[n] > 0 THEN N ELSE N) = N
\* @invariant("d_case_falls", "info", "state")
CaseFalls == CASE n = 0 -> b [] n = 1 -> ~b
\* @invariant("d_case_first", "info", "state")
CaseFirst == CASE g[n] > 0 -> TRUE [] OTHER -> TRUE
\* @invariant("d_all", "info", "state")
All == \A x \in s : g[x] > 0
\* @invariant("d_all_empty", "info", "state")
AllEmpty == g[n] > 0 => \A x \in {} : x > n
\* @invariant("d_any", "info", "state")
AnyOf == \E x \in s : g[x] > 0
\* @invariant("d_all_keys", "info", "state")
AllKeys == \A m \in Keys : f[m] >= 0
\* @invariant("d_two_clauses", "info", "state")
TwoParts == (\A m \in live : f[m] >= n) /\ \A x \in s : x < 2
\* @invariant("d_two_parts_back", "info", "state")
TwoPartsBack == (\A x \in s : x < 2) /\ \A m \in live : f[m] >= n
\* @invariant("d_divided", "info", "state")
Divided == 2 \div n >= N
\* @invariant("d_remainder", "info", "state")
RemainderOf == N % (n - 1) = 0
\* @invariant("d_any_divided", "info", "state")
AnyDivided == \E x \in s : 2 \div x > n
\* @invariant("d_head", "info", "state")
HeadOf == Head(q) > n \/ q = <<>>
\* @invariant("d_tail", "info", "state")
TailOf == Tail(q) = <<>>
\* @invariant("d_beyond", "info", "state")
Beyond == q[n] = N \/ TRUE
\* @invariant("d_sub", "info", "state")
SubOf == Len(SubSeq(q, n, 2)) < 9
\* @invariant("d_empty_in_undefined", "info", "state")
EmptyInUndefined == {} \subseteq owned[key]
\* @invariant("d_set_of_undefined", "info", "state")
SetOfUndefined == n \in {g[N], n}
\* @invariant("d_set_not_empty", "info", "state")
SetNotEmpty == {g[n]} # {}
\* @invariant("d_union_with", "info", "state")
UnionWith == n \in {n} \cup owned[key]
\* @invariant("d_filtered", "info", "state")
Filtered == n \in {x \in {n, N} : g[x] > 0}
\* @invariant("d_mapped", "info", "state")
MappedTo == n \in {g[x] : x \in s}
\* @invariant("d_of_nat", "info", "state")
OfNat == n \in {x \in Nat : g[x] > 0}
\* @invariant("d_record", "info", "state")
RecordOf == [at |-> g[n], At |-> 1, ok |-> b].ok
\* @invariant("d_record_equal", "info", "state")
RecordEqual == [at |-> g[n], At |-> N, ok |-> b] = r
\* @invariant("d_tuple", "info", "state")
TupleOf == <<g[n], N>>[2] = N
\* @invariant("d_sequence", "info", "state")
SequenceOf == Len(<<g[n], N>>) = 2
\* @invariant("d_except", "info", "state")
ExceptOf == [f EXCEPT ![key] = g[n]] = f
\* @invariant("d_except_outside", "info", "state")
ExceptOutside == [g EXCEPT ![n] = @ + 1] # g
\* @invariant("d_except_applied", "info", "state")
ExceptApplied == [g EXCEPT ![n] = 2 \div N][1] >= 0
\* @invariant("d_function", "info", "state")
FunctionOf == [x \in s |-> g[x]][n] > 0
\* @invariant("d_function_domain", "info", "state")
FunctionDomain == n \in DOMAIN [x \in s |-> g[x]]
\* @invariant("d_domain_of_record", "info", "state")
DomainOfRecord == "at" \in DOMAIN [at |-> g[n], At |-> N]
\* @invariant("d_most", "info", "state")
MostOf == (CHOOSE x \in s : \A y \in s : x >= y) >= 0
\* @invariant("d_joined", "info", "state")
JoinedTo == (f @@ (key :> g[n])) # f
\* @invariant("d_guarded", "info", "state")
GuardedBy == n \in DOMAIN g => g[n] >= N
\* @invariant("d_guarded_late", "info", "state")
GuardedLate == g[n] >= N \/ n \notin DOMAIN g
\* @invariant("d_same", "info", "state")
Same == g[n] = g[n]
\* @invariant("d_power", "info", "state")
Power == n ^ 0 = 1
\* @invariant("d_powers", "info", "state")
Powers == n ^ 2 < 2 ^ 10
\* @invariant("d_any_power", "info", "state")
AnyPower == (n - 1) ^ (N - 1) > verdict
\* @invariant("d_asserted", "info", "state")
AssertedOf == Assert(n > 0, "never") \/ b
\* @invariant("d_printed", "info", "state")
PrintedOf == PrintT(g[n]) \/ b
\* @invariant("d_reversed", "info", "state")
Reversed == [i \in 1 .. Len(q) |-> q[Len(q) + 1 - i]] = q
\* @invariant("d_next", "info", "state")
NextOf == [i \in DOMAIN q |-> q[i + 1]] = q
\* @invariant("d_finite", "info", "state")
Finite == IsFiniteSet({g[n]}) /\ ~IsFiniteSet(Nat)
\* @invariant("d_owned", "info", "state")
OwnedBy == \A m, o \in live : m # o => owned[m] \cap owned[o] = {}

----------------------------------------------------------------------------
\* A model value is equal to itself alone.

\* @invariant("e_model", "info", "state")
IsModel == key = Nobody
\* @invariant("e_not_its_text", "info", "state")
NotItsText == Nobody # "free" /\ key # "free"
\* @invariant("e_among", "info", "state")
Among == key \in {"a", Nobody}
\* @invariant("e_keys", "info", "state")
InKeys == live \subseteq {"a", Other}
\* @invariant("e_two", "info", "state")
TwoModels == Nobody # Other /\ (key = Nobody \/ key = Other)
\* @invariant("e_domain", "info", "state")
DomainHas == Nobody \in DOMAIN f => f[Nobody] > n
\* @invariant("e_chosen", "info", "state")
ChosenModel == (CHOOSE m \in live : m # "a") \in {Nobody, Other}
\* @invariant("e_string", "info", "state")
OfStrings == tag = "free" /\ tag \in STRING

----------------------------------------------------------------------------
\* Names that something else has.

\* @invariant("f_verdict", "info", "state")
NamedVerdict == verdict > n /\ \A x \in cluster : x <= verdict
\* @invariant("f_case", "info", "state")
NamedN == n < N \/ r.at > r.At
\* @invariant("f_fields", "info", "state")
Fields == \A m \in msgs : [m EXCEPT !.At = m.at] = m => m.ok
\* @step("f_next", "info", "state")
NamedNext == N' >= n /\ cluster \subseteq cluster'
\* @invariant("f_hidden", "info", "state")
Hidden == Cardinality({x \in s : \E y \in s : x + y > x_1}) = 1
Evaluates(x) == \A evaluates \in s : evaluates > x
\* @invariant("f_binder", "info", "state")
Binder == \A scope \in cluster : Evaluates(scope) \/ \E c1 \in s : c1 = scope
\* @invariant("f_siblings", "info", "state")
Siblings == (\E x \in s : x > n) => \A x \in cluster : \E y \in s : y < x

----------------------------------------------------------------------------
\* Functions over sets that nobody lists, applied where they stand; sequences by what they keep.

FoldOver(op(_, _), base, image(_), S) ==
    LET rest[T \in SUBSET S] ==
            IF T = {} THEN base
            ELSE LET t == CHOOSE t \in T : TRUE IN op(image(t), rest[T \ {t}])
    IN rest[S]
\* @invariant("g_sum", "info", "state")
SumOverKeys == FoldOver(LAMBDA x, y : x + y, 0, LAMBDA m : f[m], DOMAIN f) >= n
\* @invariant("g_sum_beyond", "info", "state")
SumBeyond == FoldOver(LAMBDA x, y : x + y, 0, LAMBDA m : f[m], live) >= n
\* @invariant("g_most", "info", "state")
MostOver == FoldOver(LAMBDA x, y : IF x > y THEN x ELSE y, N, LAMBDA i : q[i], DOMAIN q) <= verdict
\* @invariant("g_every", "info", "state")
EveryOver == FoldOver(LAMBDA x, y : x /\ y, b, LAMBDA m : f[m] > n, live)
\* @invariant("g_part", "info", "state")
PartOver == LET size[T \in SUBSET live] == Cardinality(T) + n IN size[DOMAIN f] > N
\* @invariant("g_of_naturals", "info", "state")
OfNaturals == LET up[i \in Nat] == IF i = 0 THEN 0 ELSE g[i] + up[i - 1] IN up[n - 1] >= N
\* @invariant("g_unasked", "info", "state")
Unasked == LET half[i \in Int] == 6 \div i IN half[n] > N
\* @invariant("g_of_sequences", "info", "state")
OfSequences == LET first[t \in Seq(s)] == Head(t) IN first[q] >= n
\* @invariant("g_selected", "info", "state")
SelectedFirst == Head(SelectSeq(q, LAMBDA x : x > n)) <= N
\* @invariant("g_selected_applied", "info", "state")
SelectedApplied == Len(SelectSeq(q, LAMBDA x : g[x] > n)) >= N
\* @invariant("g_selected_twice", "info", "state")
SelectedTwice == SelectSeq(SelectSeq(q, LAMBDA x : x > n), LAMBDA y : y # N) = SelectSeq(q, LAMBDA x : x > N)
\* @invariant("g_parts", "info", "state")
Parts == \E S \in SUBSET (Keys \ live) : S # {} /\ \A m \in S : f[m] >= n
\* @invariant("g_parts_of_a_state", "info", "state")
PartsOfAState == \E S \in SUBSET live : Cardinality(S) = 2 /\ \A m \in S : f[m] >= n
\* @invariant("g_parts_counted", "info", "state")
PartsCounted == Cardinality(SUBSET s) > 2 * n
\* @invariant("g_parts_inside", "info", "state")
PartsInside == {S \in SUBSET cluster : Cardinality(S) = 1} \subseteq {{x} : x \in s}
\* @invariant("g_filtered_parts", "info", "state")
FilteredParts == \A S \in SUBSET {m \in Keys : m \in DOMAIN f /\ f[m] > n} : Cardinality(S) <= N
----------------------------------------------------------------------------
\* What has a value once has it again, and nowhere else.

\* @invariant("h_again", "info", "state")
Again == f[key] > n /\ f[key] + f[key] < N + verdict
\* @invariant("h_either", "info", "state")
EitherAgain == b \/ f[key] > n \/ f[key] = N
\* @invariant("h_not_before", "info", "state")
NotBefore == (b => f[key] > n) /\ (~b => f[key] < N)
\* @invariant("h_branches", "info", "state")
Branches == IF b THEN f[key] > n ELSE owned[key] \subseteq s /\ f[key] = N
\* @invariant("h_arms", "info", "state")
Arms == CASE f[key] = n -> f[key] > N [] b -> owned[key] = s [] OTHER -> f[key] < N /\ owned[key] # {}
\* @invariant("h_inside", "info", "state")
InsideAgain == Cardinality({x \in s : x > f[key]}) >= Cardinality({x \in owned[key] : x > f[key]})
\* @invariant("h_changed", "info", "state")
ChangedAgain == [f EXCEPT ![key] = f[key] + 1][key] > f[key] + n
\* @invariant("h_heads", "info", "state")
Heads == Head(q) > n /\ (\E x \in s : x = Head(q)) /\ Head(Tail(q)) # N
\* @invariant("h_written", "info", "state")
OverWritten == n > 1 \/ \E m \in Keys :
    m \in live /\ f[m] > n /\ (f[m] < N \/ owned[m] \subseteq s \/ \E x \in owned[m] : x > f[m] + verdict)
\* @invariant("h_written_twice", "info", "state")
WrittenTwice == b \/ \A m \in Keys : \E o \in {Nobody, "a", "b"} :
    m \in live => f[m] >= f[o] \/ Cardinality({x \in owned[o] : x > f[m] /\ x # n}) > N
----------------------------------------------------------------------------
\* Recursion that ends at the last element, not behind it, has no value where there is none.

RECURSIVE LastLargest(_), LastImage(_), LastSmallest(_), SumToLast(_)
LastLargest(S) == IF Cardinality(S) = 1 THEN CHOOSE x \in S : TRUE ELSE
    LET x == CHOOSE x \in S : TRUE  rest == LastLargest(S \ {x}) IN IF x > rest THEN x ELSE rest
LastImage(S) == LET m == CHOOSE m \in S : TRUE IN IF S = {m} THEN f[m] ELSE
    IF f[m] >= LastImage(S \ {m}) THEN f[m] ELSE LastImage(S \ {m})
LastSmallest(list) == IF Len(list) = 1 THEN list[1] ELSE
    IF Head(list) < LastSmallest(Tail(list)) THEN Head(list) ELSE LastSmallest(Tail(list))
SumToLast(list) == IF Len(list) <= 1 THEN Head(list) ELSE Head(list) + SumToLast(Tail(list))

\* @invariant("i_largest", "info", "state")
LargestOfAll == LastLargest(s) > n
\* @invariant("i_largest_guarded", "info", "state")
LargestGuarded == s # {} => LastLargest(s) > n
\* @invariant("i_largest_image", "info", "state")
LargestOfImages == LastImage(live) > n
\* @invariant("i_smallest", "info", "state")
SmallestOfAll == LastSmallest(q) < n
\* @invariant("i_sum_to_last", "info", "state")
SumOfAll == SumToLast(q) > n
----------------------------------------------------------------------------
\* Sequences up to a length, and other unions of sets that are never listed.

\* @invariant("j_up_to", "info", "state")
UpTo == q \in UNION {[1 .. i -> s \cup {n, N}] : i \in 0 .. 3}
\* @invariant("j_up_to_a_variable", "info", "state")
UpToVariable == q \in UNION {[1 .. i -> 0 .. N] : i \in {x \in s : x < n}}
\* @invariant("j_functions", "info", "state")
SomeFunction == f \in UNION {[S -> s] : S \in SUBSET Keys}
\* @invariant("j_parts", "info", "state")
SomePart == s \in UNION {SUBSET {x, n, N} : x \in cluster}
\* @invariant("j_products", "info", "state")
SomeProduct == two \in UNION {{x} \X {b} : x \in owned[key]}
----------------------------------------------------------------------------
\* All functions from a few values that are written out.

\* @invariant("k_some_function", "info", "state")
SomePair == \E h \in [0 .. 2 - 1 -> s] : h[0] + h[1] = n
\* @invariant("k_every_function", "info", "state")
EveryChoice == \A h \in [Keys -> {n, N}] : \E m \in live : m \in DOMAIN f /\ h[m] > f[m]
\* @invariant("k_counted", "info", "state")
CountedPairs == Cardinality({h \in [1 .. 2 -> s] : h[1] < h[2]}) > n
\* @invariant("k_images", "info", "state")
ImagesOfAll == {h["a"] : h \in [{"a"} -> owned[key]]} = s
\* @invariant("k_member", "info", "state")
OneOfAll == q \in {h \in [1 .. 2 -> 0 .. 3] : h[1] # h[2]}
\* @invariant("k_chosen", "info", "state")
ChosenOfAll == LET h == CHOOSE h \in [{1, 2} -> {n}] : h[1] > N IN h[2] = verdict
\* @step("k_step", "info", "state")
StepOfAll == \E h \in [{1, 2} -> {n, N}] : n' = h[1] /\ N' = h[2]
----------------------------------------------------------------------------
\* A record is a function of the names of its fields.

\* @invariant("l_named", "info", "state")
FieldNamed == ([a |-> n, b |-> N])[key] > verdict
\* @invariant("l_named_or", "info", "state")
FieldNamedOr == b \/ LET rank == [a |-> 1, b |-> x_1] IN \A m \in live : rank[m] >= n
\* @invariant("l_named_in", "info", "state")
FieldNamedIn == LET rank == [a |-> s, c |-> cluster] IN tag \in DOMAIN rank => n \in rank[tag]
\* @invariant("l_changed", "info", "state")
FieldChanged == [[a |-> n, b |-> N] EXCEPT ![key] = @ + 1].a > verdict
\* @step("l_changed_step", "info", "state")
FieldChangedStep ==
    \E m \in {"a", "free"} : [a |-> n', free |-> N'] = [[a |-> n, free |-> N] EXCEPT ![m] = verdict]
----------------------------------------------------------------------------
\* Folds in which the order matters, and the value so far may have no value.

Kept(map(_, _), S) ==
    LET rest[T \in SUBSET S] == IF T = {} THEN <<>>
        ELSE LET x == CHOOSE x \in T : \A y \in T : x >= y IN map(x, rest[T \ {x}])
    IN  rest[S]
RECURSIVE Alternating(_), Replayed(_, _), Until(_, _), Lowest(_, _, _), Toggled(_, _), Longest(_), Down(_)
Alternating(w) == IF w = <<>> THEN N ELSE Head(w) - 2 * Alternating(Tail(w))
Replayed(w, m) == IF w = <<>> THEN m ELSE Replayed(Tail(w), [m EXCEPT ![key] = 2 * @ - Head(w)])
Until(w, m) == CASE w = <<>> -> m [] OTHER -> IF Head(w) = n THEN m + 1 ELSE Until(Tail(w), g[Head(w)] - m)
Lowest(i, sum, low) ==
    IF i > Len(q) THEN <<sum, low>>
    ELSE LET more == sum + q[i] IN Lowest(i + 1, more, IF more < low THEN more ELSE low)
Toggled(i, m) == IF i = 0 THEN m ELSE Toggled(i - 1, IF b THEN m ELSE f[key] - m)
Longest(w) ==
    IF Len(w) = 1 THEN w
    ELSE LET rest == Longest(Tail(w)) IN IF Head(w) < rest[1] THEN <<Head(w)>> \o rest ELSE <<Head(w)>>
Down(i) == IF i = 0 THEN [m \in Keys |-> n] ELSE [Down(i - 1) EXCEPT ![key] = IF i = N THEN @ ELSE f[key] - @]

RECURSIVE Ascends(_), Gap(_, _), Singles(_)
Ascends(w) == Len(w) <= 1 \/ (w[1] <= w[2] /\ Ascends(Tail(w)))
Gap(w, m) == IF Len(w) < 2 THEN m ELSE Gap(Tail(w), IF w[2] - Head(w) > m THEN Head(Tail(w)) - w[1] ELSE m)
Singles(S) == IF Cardinality(S) <= 1 THEN 1 ELSE LET x == CHOOSE x \in S : TRUE IN 1 + Singles(S \ {x})

\* @invariant("m_neighbours", "info", "state")
FoldNeighbours == Ascends(q)
\* @invariant("m_gap", "info", "state")
FoldGap == Gap(q, n) > N
\* @invariant("m_singles", "info", "state")
FoldSingles == Singles(s) > n
\* @invariant("m_direct", "info", "state")
FoldDirect == Alternating(q) > verdict
\* @invariant("m_function", "info", "state")
FoldFunction == LET m == Replayed(q, f) IN \A x \in live : x \in DOMAIN m => m[x] >= n
\* @invariant("m_until", "info", "state")
FoldUntil == Until(q, verdict) # N
\* @invariant("m_two", "info", "state")
FoldTwo == Lowest(1, n, 0)[2] < Lowest(1, n, 0)[1]
\* @invariant("m_undefined", "info", "state")
FoldUndefined == Toggled(2, n) > N
\* @invariant("m_last", "info", "state")
FoldLast == Len(q) > 0 => Len(Longest(q)) > 1
\* @invariant("m_range", "info", "state")
FoldRange == Down(3)["a"] >= verdict
\* @invariant("m_set", "info", "state")
FoldSet == Kept(LAMBDA x, rest : Append(rest, x), s) = q
\* @invariant("m_record", "info", "state")
FoldRecord ==
    LET last[i \in 0 .. Len(q)] == IF i = 0 THEN r ELSE [last[i - 1] EXCEPT !.at = q[i] - @, !.ok = ~@]
    IN  last[Len(q)].At <= last[Len(q)].at \/ last[Len(q)].ok
\* @step("m_step", "info", "state")
FoldStep == Alternating(q') >= Alternating(q)
\* @invariant("m_one_name", "info", "state")
FoldsOfOneName == /\ LET last == Alternating(q) IN last >= n
                  /\ LET last == Until(q, N) IN last >= n
                  /\ Alternating(q) # verdict
\* @invariant("m_one_variable", "info", "state")
FoldsOfOneVariable == (\A x \in s : Until(q, x) >= n) /\ (\A x \in cluster : Until(q, x) >= n)
\* Something else may end it before, or moves while what it gives is joined.
RECURSIVE Before(_, _), Alike(_, _), Taken(_, _), Newest(_, _), Weighed(_, _)
Before(w, x) == IF g[x] < 0 \/ x > 2 THEN FALSE ELSE IF w = <<>> THEN x = n ELSE Before(Tail(w), x + Head(w))
Alike(v, w) == IF v = <<>> THEN TRUE ELSE IF w = <<>> THEN b ELSE Head(v) <= Head(w) /\ Alike(Tail(v), Tail(w))
Taken(w, x) == IF x = 2 \/ w = <<>> THEN <<x>> ELSE <<Head(w)>> \o Taken(Tail(w), x + 1)
Newest(w, S) == IF w = <<>> THEN <<>>
                ELSE IF Head(w) \in S THEN Newest(Tail(w), S) ELSE <<Head(w)>> \o Newest(Tail(w), S \cup {Head(w)})
Weighed(w, x) == IF w = <<>> THEN g[x] ELSE x * Head(w) + Weighed(Tail(w), 1 - x)
\* @invariant("o_before", "info", "state")
FoldBefore == Before(q, N)
\* @invariant("o_alike", "info", "state")
FoldAlike == Alike(q, <<n, N, 1>>)
\* @invariant("o_taken", "info", "state")
FoldTaken == Taken(q, n) = q
\* @invariant("o_newest", "info", "state")
FoldNewest == Newest(q, s) # q
\* @invariant("o_weighed", "info", "state")
FoldWeighed == Weighed(q, n) >= N
\* What is left of a sequence is looked at, or given.
RECURSIVE Inserted(_, _), Ordered(_), Without(_, _), Rising(_)
Inserted(w, x) == IF w = <<>> THEN <<x>> ELSE IF x <= Head(w) THEN <<x>> \o w ELSE <<Head(w)>> \o Inserted(Tail(w), x)
Ordered(w) == IF w = <<>> THEN <<>> ELSE Inserted(Ordered(Tail(w)), Head(w))
Without(w, x) == IF w = <<>> THEN <<>> ELSE IF Head(w) = x THEN Tail(w) ELSE <<Head(w)>> \o Without(Tail(w), x)
Rising(w) == w # <<>> => Rising(SubSeq(w, 1, Len(w) - 1)) /\ \A i \in DOMAIN w : w[i] <= w[Len(w)]
\* @invariant("o_ordered", "info", "state")
FoldOrdered == Ordered(q) # q
\* @invariant("o_without", "info", "state")
FoldWithout == \A x \in s : Without(q, x) = SelectSeq(q, LAMBDA y : y # x)
\* @invariant("o_rising", "info", "state")
FoldRising == Rising(q)
\* What is left is given where an element says so, also by a test of several; a number is given where it ends.
RECURSIVE From(_, _), Start(_), Steps(_, _), Risen(_)
From(w, x) == IF w # <<>> /\ Head(w) # x /\ Head(w) \notin s THEN From(Tail(w), x) ELSE w
Start(i) == IF i <= 1 THEN i ELSE IF q[i - 1] = q[i] THEN Start(i - 1) ELSE 10 * i
Steps(i, sum) == IF i >= N THEN i + sum ELSE Steps(i + 1, sum + i)
Risen(i) == IF i > n \/ i \in s THEN i ELSE Risen(i + 1)
\* @invariant("o_from", "info", "state")
FoldFrom == \A x \in cluster : Len(From(q, x)) > n
\* @invariant("o_start", "info", "state")
FoldStart == Start(IF Len(q) > 2 THEN n ELSE Len(q)) <= N
\* @invariant("o_steps", "info", "state")
FoldSteps == \A x \in s : Steps(x, n) >= verdict
\* @invariant("o_risen", "info", "state")
FoldRisen == \A x \in cluster : Risen(x) <= N
\* A part of constants alone beside others: in every state it is what it is.
\* @invariant("n_constants", "info", "state")
OfConstants == /\ Nobody \in Keys
               /\ \A k \in Keys : Cardinality(Keys \ {k}) = 3
               /\ \A x \in live : x # "a"
\* What is not about the element is asked once, and what is gone over computed once, also where there is no element.
\* @invariant("p_asked_once", "info", "state")
AskedOnce == LET sum[i \in 0 .. n] == IF i = 0 THEN 0 ELSE sum[i - 1] + q[i] IN \A x \in s : x <= n => sum[x] >= N
\* @invariant("p_asked_seldom", "info", "state")
AskedSeldom == LET sum[i \in 0 .. 2] == IF i = 0 THEN 0 ELSE sum[i - 1] + q[i] IN
                  \A x \in s : \/ x > n \/ sum[2] >= N
                               \/ x < 0 /\ \E k \in live : sum[2] # f[k]
\* @invariant("p_tails", "info", "state")
Tails == \A i \in 1 .. Len(q) : LET t == SubSeq(q, i, Len(q)) IN
            (\A j \in 1 .. Len(t) : t[j] >= n) \/ Cardinality({j \in DOMAIN Tail(t) : Tail(t)[j] = N}) > verdict
\* An operator that is given to a recursion may begin the same one; LET may apply the function that it is part of.
Whole(S, Of(_)) == LET RECURSIVE go(_)
                       go(T) == IF T = {} THEN 0 ELSE LET x == CHOOSE y \in T : TRUE IN Of(x) + go(T \ {x})
                   IN go(S)
\* @invariant("q_within_itself", "info", "state")
FoldWithinItself == Whole(s, LAMBDA x : Whole({y \in cluster : y # x}, LAMBDA y : x + g[y])) >= verdict
ImageSum(S, Of(_)) == LET sum[T \in SUBSET S] == IF T = {} THEN 0
                                                 ELSE LET x == CHOOSE y \in T : TRUE IN Of(x) + sum[T \ {x}]
                      IN sum[S]
\* @invariant("q_function_within_itself", "info", "state")
FunctionWithinItself == ImageSum(s, LAMBDA x : ImageSum(cluster, LAMBDA y : x - y)) >= verdict
\* @invariant("q_named_by_let", "info", "state")
NamedByLet == LET left[i \in 0 .. Len(q)] ==
                      IF i = 0 THEN n ELSE LET now == left[i - 1] - q[i] IN IF now < 0 THEN N ELSE now
              IN  left[Len(q)] >= verdict
\* Parts of a tuple, and several parts below one key, that change after one another.
\* @invariant("q_part_of_a_tuple", "info", "state")
PartOfATuple == LET t == [two EXCEPT ![1] = @ + n, ![2] = ~@, ![1] = q[@]] IN t[2] \/ t[1] < N
\* @invariant("q_below_one_key", "info", "state")
BelowOneKey == LET h == [k \in live |-> [r EXCEPT !.at = f[k]]]
                   i == [h EXCEPT ![key].at = @ + n, ![key].ok = ~@, ![key].at = @ + g[@]]
               IN  \A k \in DOMAIN i : i[k].ok => i[k].at >= N
\* @invariant("q_below_two_keys", "info", "state")
BelowTwoKeys == LET i == [k \in live |-> [r EXCEPT !.at = f[k]]]
                    j == [i EXCEPT ![key].at = @ + n, !["a"].at = @ * 2]
                IN  \A k \in DOMAIN j : j[k].ok => j[k].at >= N
=============================================================================
