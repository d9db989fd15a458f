------------------------------ MODULE Corpus ------------------------------
(***************************************************************************)
(* Small definitions that together use each construct of the fragment, and *)
(* each trap between TLA+ and SQL, over variables of every kind of value.  *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

\* @type: Set(KEY);
CONSTANT Keys

\* @type: KEY;
CONSTANT Nobody

\* @type: Int;
VARIABLE n
\* @type: Int;
VARIABLE k
\* @type: Bool;
VARIABLE b
\* @type: KEY;
VARIABLE key
\* @type: Set(Int);
VARIABLE s
\* @type: Set(Int);
VARIABLE t
\* @type: Set(KEY);
VARIABLE live
\* @type: KEY -> Int;
VARIABLE epoch
\* @type: KEY -> Set(Int);
VARIABLE owned
\* @type: KEY -> {at: Int, ok: Bool};
VARIABLE state
\* @type: {at: Int, ok: Bool};
VARIABLE r
\* @type: Seq(Int);
VARIABLE q
\* @type: Seq({at: Int, ok: Bool});
VARIABLE log
\* @type: Set({at: Int, ok: Bool});
VARIABLE msgs
\* @type: Set({type: KEY, at?: Int, ok?: Bool});
VARIABLE mail
\* @type: {type: KEY, at?: Int, ok?: Bool};
VARIABLE last
\* @type: Set(<<Int, KEY>>);
VARIABLE pairs
\* @type: <<Int, Bool>>;
VARIABLE two

Max(S) == CHOOSE x \in S : \A y \in S : x >= y
Least(S) == CHOOSE x \in S : \A y \in S : y >= x
Twice(Op(_), x) == Op(Op(x))
Next2(x) == x + 2
InS(x) == x \in s
vars == <<n, k>>

\* @invariant("comparison", "info", "state")
Comparison == n < k

\* @invariant("less_or_equal", "info", "state")
LessOrEqual == n <= k

\* @invariant("difference", "info", "state")
Difference == n /= k

\* @invariant("implies", "info", "state")
Implies == b => n > k

\* @invariant("equivalent", "info", "state")
Equivalent == b <=> n > k

\* @invariant("nested", "info", "state")
Nested == (n = 1 \/ k = 1) /\ ~(n = k)

\* @invariant("sum", "info", "state")
Sum == n + k > 3

\* @invariant("product", "info", "state")
Product == n * k > 1

\* @invariant("unary_minus", "info", "state")
UnaryMinus == -n < k

\* @invariant("floor_division", "info", "state")
FloorDivision == (n - 1) \div 2 = (k - 2) \div 2

\* @invariant("floor_of_negative", "info", "state")
FloorOfNegative == (n - 5) \div 3 < -k

\* @invariant("remainder", "info", "state")
Remainder == (n - 4) % 3 <= k

\* @invariant("conditional", "info", "state")
Conditional == IF b THEN n > 1 ELSE k > 1

\* @invariant("conditional_value", "info", "state")
ConditionalValue == (IF b THEN n ELSE k) > 1

\* @invariant("by_case", "info", "state")
ByCase == CASE n > k -> b [] key = "a" -> TRUE [] OTHER -> ~b

\* @invariant("let_in", "info", "state")
LetIn == LET m == n + k IN m > 1 /\ m < 4

\* @invariant("let_operator", "info", "state")
LetOperator == LET plus(x) == x + n IN plus(k) > 2

\* @invariant("string_equal", "info", "state")
StringEqual == key = "a"

\* @invariant("string_in", "info", "state")
StringIn == key \in {"a", "b"}

\* @invariant("membership", "info", "state")
Membership == n \in s

\* @invariant("not_member", "info", "state")
NotMember == n \notin s

\* @invariant("set_equality", "info", "state")
SetEquality == s = t

\* @invariant("empty_set", "info", "state")
EmptySet == s = {}

\* @invariant("literal_set", "info", "state")
LiteralSet == s = {n, k}

\* @invariant("subset", "info", "state")
Subset == s \subseteq t

\* @invariant("subset_of_literal", "info", "state")
SubsetOfLiteral == s \subseteq {0, 1}

\* @invariant("union_of_two", "info", "state")
UnionOfTwo == n \in s \cup t

\* @invariant("union_equal", "info", "state")
UnionEqual == s \cup t = {0, 1, 2}

\* @invariant("intersection", "info", "state")
Intersection == s \cap t = {}

\* @invariant("difference_of_sets", "info", "state")
DifferenceOfSets == s \ t \subseteq {1, 2}

\* @invariant("filter", "info", "state")
Filter == {x \in s : x > n} = {}

\* @invariant("filter_member", "info", "state")
FilterMember == n \in {x \in s : x > k}

\* @invariant("mapped", "info", "state")
Mapped == {x + 1 : x \in s} = t

\* @invariant("mapped_member", "info", "state")
MappedMember == n \in {x + 1 : x \in s}

\* @invariant("mapped_twice", "info", "state")
MappedTwice == n \in {x + y : x \in s, y \in t}

\* @invariant("size", "info", "state")
Size == Cardinality(s) > 1

\* @invariant("size_of_filter", "info", "state")
SizeOfFilter == Cardinality({x \in s : x > 0}) = 1

\* @invariant("size_of_map", "info", "state")
SizeOfMap == Cardinality({x \div 2 : x \in s}) = 1

\* @invariant("size_of_union", "info", "state")
SizeOfUnion == Cardinality(s \cup t) > 2

\* @invariant("range_member", "info", "state")
RangeMember == n \in k .. 1

\* @invariant("range_equal", "info", "state")
RangeEqual == s = 0 .. n

\* @invariant("universal", "info", "state")
Universal == \A x \in s : x < k

\* @invariant("existential", "info", "state")
Existential == \E x \in s : x > k

\* @invariant("nested_quantifiers", "info", "state")
NestedQuantifiers == \A x \in s : \E y \in t : x <= y

\* @invariant("alternating_quantifiers", "info", "state")
AlternatingQuantifiers == \E x \in s : \A y \in t : x >= y

\* @invariant("over_constant", "info", "state")
OverConstant == \A m \in Keys : m \in live \cup DOMAIN epoch

\* @invariant("over_range", "info", "state")
OverRange == \A x \in 0 .. n : x \in s

\* @invariant("over_union", "info", "state")
OverUnion == \A x \in s \cup t : x > 0

\* @invariant("over_difference", "info", "state")
OverDifference == \E x \in s \ t : x > 1

\* @invariant("two_names", "info", "state")
TwoNames == \A x, y \in s : x = y

\* @invariant("vacuous", "info", "state")
Vacuous == \A x \in s : x > 1 => x \in t

\* @invariant("natural", "info", "state")
Natural == \A x \in {y - 1 : y \in s} : x \in Nat

\* @invariant("integer_type", "info", "state")
IntegerType == n \in Int /\ n < k

\* @invariant("powerset", "info", "state")
Powerset == s \in SUBSET {0, 1}

\* @invariant("powerset_of", "info", "state")
PowersetOf == t \in SUBSET s

\* @invariant("domain_member", "info", "state")
DomainMember == key \in DOMAIN epoch

\* @invariant("domain", "info", "state")
Domain == DOMAIN epoch = live

\* @invariant("apply", "info", "state")
Apply == key \in DOMAIN epoch => epoch[key] > n

\* @invariant("over_domain", "info", "state")
OverDomain == \A m \in DOMAIN epoch : epoch[m] <= n

\* @invariant("two_domains", "info", "state")
TwoDomains == \A m \in DOMAIN epoch \cap DOMAIN owned : epoch[m] \in owned[m]

\* @invariant("owned_twice", "info", "state")
OwnedTwice == \A m, o \in DOMAIN owned : m /= o => owned[m] \cap owned[o] = {}

\* @invariant("function_set", "info", "state")
FunctionSet == epoch \in [live -> 0 .. 1]

\* @invariant("function_of_sets", "info", "state")
FunctionOfSets == owned \in [DOMAIN owned -> SUBSET {0, 1}]

\* @invariant("function_equality", "info", "state")
FunctionEquality == epoch = [m \in DOMAIN epoch |-> n]

\* @invariant("constructed", "info", "state")
Constructed == [x \in s |-> x * 2] = [x \in t |-> x + x]

\* @invariant("constructed_apply", "info", "state")
ConstructedApply == [x \in 2 .. 2 |-> x + n][2] > k + 1

\* @invariant("excepted", "info", "state")
Excepted == [epoch EXCEPT !["a"] = n] = epoch

\* @invariant("excepted_apply", "info", "state")
ExceptedApply == key \in DOMAIN epoch => [epoch EXCEPT ![key] = @ + 1][key] > n

\* @invariant("excepted_set", "info", "state")
ExceptedSet == [owned EXCEPT !["a"] = @ \cup {n}] = owned

\* @invariant("union_of_map", "info", "state")
UnionOfMap == n \in UNION {owned[m] : m \in DOMAIN owned}

\* @invariant("union_covers", "info", "state")
UnionCovers == UNION {owned[m] : m \in DOMAIN owned} = s

\* @invariant("over_union_of_map", "info", "state")
OverUnionOfMap == \A x \in UNION {owned[m] : m \in DOMAIN owned} : x < k

\* @invariant("joined", "info", "state")
Joined == (epoch @@ ("a" :> n)) = ("a" :> n) @@ epoch

\* @invariant("singleton", "info", "state")
Singleton == DOMAIN epoch = {"a"} => epoch = "a" :> n

\* @invariant("range_of_function", "info", "state")
RangeOfFunction == n \in {epoch[m] : m \in DOMAIN epoch}

\* @invariant("field_of_record", "info", "state")
FieldOfRecord == r.ok => r.at > n

\* @invariant("record_equality", "info", "state")
RecordEquality == r = [at |-> n, ok |-> b]

\* @invariant("record_except", "info", "state")
RecordExcept == [r EXCEPT !.at = n] = r

\* @invariant("record_update", "info", "state")
RecordUpdate == [r EXCEPT !.at = @ + 1].at > k

\* @invariant("record_set_type", "info", "state")
RecordSetType == r \in [at : 0 .. 1, ok : BOOLEAN]

\* @invariant("record_in_set", "info", "state")
RecordInSet == r \in msgs

\* @invariant("fields_of_set", "info", "state")
FieldsOfSet == \A m \in msgs : m.ok => m.at > n

\* @invariant("two_records", "info", "state")
TwoRecords == \A m, o \in msgs : m.at = o.at => m = o

\* @invariant("record_type", "info", "state")
RecordType == msgs \subseteq [at : 0 .. 1, ok : BOOLEAN]

\* @invariant("state_record", "info", "state")
StateRecord == \A m \in DOMAIN state : state[m].ok => state[m].at >= n

\* @invariant("state_except", "info", "state")
StateExcept == [state EXCEPT !["a"].at = n] = state

\* @invariant("state_type", "info", "state")
StateType == state \in [DOMAIN state -> [at : {0, 1}, ok : BOOLEAN]]

\* @invariant("chosen_maximum", "info", "state")
ChosenMaximum == s /= {} => Max(s) > n

\* @invariant("chosen_least", "info", "state")
ChosenLeast == s /= {} => Least(s) = k

\* @invariant("chosen_unique", "info", "state")
ChosenUnique == n \in s => (CHOOSE y \in s : y * y = n * n) < k

\* @invariant("maximum_of_map", "info", "state")
MaximumOfMap == DOMAIN epoch /= {} => Max({epoch[m] : m \in DOMAIN epoch}) <= k

\* @invariant("tuple_in", "info", "state")
TupleIn == <<n, key>> \in pairs

\* @invariant("tuple_parts", "info", "state")
TupleParts == two[2] => two[1] > n

\* @invariant("tuple_equal", "info", "state")
TupleEqual == two = <<n, b>>

\* @invariant("tuple_pattern", "info", "state")
TuplePattern == \A <<x, m>> \in pairs : x > n => m \in live

\* @invariant("product2", "info", "state")
Product2 == pairs \subseteq (0 .. 1) \X {"a", "b"}

\* @invariant("product_member", "info", "state")
ProductMember == <<n, key>> \in s \X live

\* @invariant("two_arguments", "info", "state")
TwoArguments == n \in s /\ k \in t => [x \in s, y \in t |-> x + y][n, k] > 2

\* @invariant("length", "info", "state")
Length == Len(q) > n

\* @invariant("first_is", "info", "state")
FirstIs == q /= <<>> => Head(q) = n

\* @invariant("last_is", "info", "state")
LastIs == q /= <<>> => q[Len(q)] > k

\* @invariant("tail_is", "info", "state")
TailIs == q /= <<>> => Len(Tail(q)) = n

\* @invariant("sorted", "info", "state")
Sorted == \A i \in 1 .. Len(q) - 1 : q[i] <= q[i + 1]

\* @invariant("sorted_domain", "info", "state")
SortedDomain == \A i, j \in DOMAIN q : i < j => q[i] <= q[j]

\* @invariant("sequence_equal", "info", "state")
SequenceEqual == q = <<n>> \/ q = <<n, k>>

\* @invariant("sub", "info", "state")
Sub == Len(q) >= 2 => SubSeq(q, 1, 2) = <<n, k>>

\* @invariant("appended", "info", "state")
Appended == Append(q, n) = q \o <<k>>

\* @invariant("selected", "info", "state")
Selected == Len(SelectSeq(q, LAMBDA x : x > n)) = 1

\* @invariant("selected_all", "info", "state")
SelectedAll == SelectSeq(q, LAMBDA x : x # k) = q

\* @invariant("sequence_type", "info", "state")
SequenceType == q \in Seq(0 .. 1)

\* @invariant("log_ok", "info", "state")
LogOk == \A i \in DOMAIN log : log[i].ok => log[i].at >= n

\* @invariant("log_equal", "info", "state")
LogEqual == log = <<>> \/ log[1] = r

\* @invariant("lambda_argument", "info", "state")
LambdaArgument == Twice(LAMBDA x : x + 1, n) > k

\* @invariant("operator_argument", "info", "state")
OperatorArgument == Twice(Next2, n) > k + 2

\* @invariant("inlined_names", "info", "state")
InlinedNames == \A x \in t : InS(x)

\* @invariant("shadowed", "info", "state")
Shadowed == \E x \in s : LET y == x + 1 IN \A x_2 \in t : y >= x_2

\* @invariant("booleans", "info", "state")
Booleans == \A x \in BOOLEAN : x => b

\* @invariant("exactly_one", "info", "state")
ExactlyOne == Cardinality({m \in live : m = key}) = 1

\* @invariant("set_of_sets", "info", "state")
SetOfSets == s \in {owned[m] : m \in DOMAIN owned}

\* @invariant("sets_of_sets_size", "info", "state")
SetsOfSetsSize == Cardinality({owned[m] : m \in DOMAIN owned}) = Cardinality(DOMAIN owned)

\* @invariant("itself", "info", "state")
Itself == \E x \in s : x = x

\* @invariant("empty_function", "info", "state")
EmptyFunction == epoch = <<>> \/ n \in s

\* @invariant("over_records", "info", "state")
OverRecords == \E x \in [at : s, ok : BOOLEAN] : x \in msgs /\ (x.ok => x.at <= n)

\* @invariant("set_of_records", "info", "state")
SetOfRecords == Cardinality([at : t, ok : {b}]) > 1

RECURSIVE Multiplied(_)
Multiplied(S) == IF S = {} THEN 1 ELSE LET x == CHOOSE x \in S : TRUE IN (x + 1) * Multiplied(S \ {x})

\* @invariant("product_of", "info", "state")
ProductOf == Multiplied(s) > n + 1

Small(x) == x <= 1
Plain == INSTANCE Shelf WITH Size <- 1, Fits <- Small, books <- s
Sized(m) == INSTANCE Shelf WITH Size <- m, Fits <- LAMBDA x : x < m, books <- s \cup t

\* @invariant("instance", "info", "state")
Instance == Plain!Within

\* @invariant("instance_operator", "info", "state")
InstanceOperator == Plain!AllFit

\* @invariant("instance_parameter", "info", "state")
InstanceParameter == Sized(2)!Within => Sized(2)!Holds(n)

\* @invariant("instance_of_expression", "info", "state")
InstanceOfExpression == \E x \in {1, 2} : Sized(x)!AllFit /\ x = n

\* @invariant("model_value", "info", "state")
ModelValue == key /= Nobody /\ Nobody \notin live

Nothing == CHOOSE x : x \notin Keys

\* @invariant("definition_with_a_value", "info", "state")
DefinitionWithAValue == key /= Nothing

\* @step("instance_step", "info", "step")
InstanceStep == Plain!Grown

\* @step("never_falls", "info", "step")
NeverFalls == n' >= n

\* @step("grows_by_one", "info", "step")
GrowsByOne == n' = n + 1

\* @step("keeps_or_moves", "info", "step")
KeepsOrMoves == n' = n \/ k' = k

\* @step("set_grows", "info", "step")
SetGrows == s \subseteq s'

\* @step("unchanged", "info", "step")
Unchanged == b => UNCHANGED n

\* @step("unchanged_tuple", "info", "step")
UnchangedTuple == b' => UNCHANGED vars

\* @step("boxed", "info", "step")
Boxed == [n' = n + 1]_k

\* @step("epochs_grow", "info", "step")
EpochsGrow == \A m \in DOMAIN epoch \cap DOMAIN epoch' : epoch'[m] >= epoch[m]

\* @step("only_one_moves", "info", "step")
OnlyOneMoves == \E m \in {"a", key} : \A o \in (DOMAIN epoch \cap DOMAIN epoch') \ {m} : epoch'[o] = epoch[o]

\* @step("log_appends", "info", "step")
LogAppends == Len(log') >= Len(log) /\ SubSeq(log', 1, Len(log)) = log

\* @step("owned_moves", "info", "step")
OwnedMoves == \A m \in DOMAIN owned \cap DOMAIN owned' : owned[m] \cap owned'[m] = {} => n' > n

\* @step("primed_expression", "info", "step")
PrimedExpression == (n + k)' > n + k

\* Below is what modules written by others say: marks by a guard, a header or a theorem.
Differ == n /= k

\* @invariant("guarded", "info", "state") @when("Differ")
Guarded == n \in s

\* @step("guarded_step", "info", "step") @when("Differ")
GuardedStep == n' > n

\* INV: UnderHeader -----
\* What a header names is an invariant.
UnderHeader == k \in s

\* ACTION_PROP: StepUnderHeader
StepUnderHeader == k' >= k

ByTheorem == n <= 1
AlsoByTheorem == Cardinality(t) <= 1
AlwaysByTheorem == [](b => k > 0)
StepsByTheorem == [][k' > k]_<<k, b>>
Spec == n = 0 /\ [][n' = n + 1]_vars
THEOREM Spec => [](ByTheorem /\ AlsoByTheorem)
THEOREM Named == Spec => AlwaysByTheorem /\ StepsByTheorem

----------------------------------------------------------------------------
\* Records of several shapes: what some of them lack.

Asked == [type : {"a", "b"}, at : 0 .. 1]
Told == [type : {"a", Nobody}, ok : BOOLEAN]
Bare == [type : Keys]

\* @invariant("of_two_shapes", "info", "state")
OfTwoShapes == last \in Asked \cup Told

\* @invariant("all_of_shapes", "info", "state")
AllOfShapes == mail \subseteq (Told \cup Bare \cup [type : {"a", "b"}, at : Int])

\* @invariant("field_by_tag", "info", "state")
FieldByTag == \A m \in mail : "at" \in DOMAIN m => m.at > n

\* @invariant("field_after_tag", "info", "state")
FieldAfterTag == \E m \in mail : "at" \in DOMAIN m /\ (m.type = "a" \/ m.at < k)

\* @invariant("shape_written", "info", "state")
ShapeWritten == last = [type |-> key, at |-> n] \/ [type |-> "a"] = last \/ b

\* @invariant("shape_in_mail", "info", "state")
ShapeInMail == [type |-> key] \in mail \/ [type |-> key, at |-> n] \in mail

\* @invariant("shapes_equal", "info", "state")
ShapesEqual == last \in mail \/ last.type = key

\* @invariant("names_of_shape", "info", "state")
NamesOfShape == DOMAIN last = {"type", "at"} \/ DOMAIN last \subseteq {"type", "ok"}

\* @invariant("how_many_fields", "info", "state")
HowManyFields == Cardinality(DOMAIN last) > n

\* @invariant("field_changed", "info", "state")
FieldChanged == [last EXCEPT !.at = n] \in mail \/ [last EXCEPT !.type = "a", !.at = @ + 1].type = key

\* @invariant("shape_filtered", "info", "state")
ShapeFiltered == Cardinality({m \in mail : "at" \in DOMAIN m /\ m \notin Asked}) < n

\* @invariant("shape_mapped", "info", "state")
ShapeMapped == n \in {m.at : m \in {x \in mail : "at" \in DOMAIN x}}

\* @invariant("over_shapes", "info", "state")
OverShapes == \E m \in [type : live, at : s] \cup [type : {"a", key}] : m = last

\* @step("shape_follows", "info", "state")
ShapeFollows == last' = [type |-> key, at |-> n] \/ last'.type = "b"

----------------------------------------------------------------------------
\* Sets that are written out, under a test too long to be written for each element.

\* @invariant("some_of_written", "info", "state")
SomeOfWritten == \E m \in Keys : m # key /\ m \notin live /\ \A o \in {"a", "b"} :
    (o \in live \/ o = key) => \E x \in s : (x \in t /\ x > n) \/ (x > k /\ o # m) \/ {x, k} \subseteq t

\* @invariant("every_of_written", "info", "state")
EveryOfWritten == k = 0 \/ \A i \in {0, 1, 2} :
    i \in s => i \in t \/ i > n \/ (key \in live /\ Cardinality({x \in s : x >= i /\ x # k}) < 2 /\ {i, k} # s)

----------------------------------------------------------------------------
\* One filtered set under two quantifiers, one in the other.

Apart(h) == \A i, j \in DOMAIN h : i # j => i + j \in t \/ i > k

\* @invariant("filtered_twice", "info", "state")
FilteredTwice == n = 2 \/ Apart([x \in {y \in s : y # n} |-> x])

----------------------------------------------------------------------------
\* Recursion that is written without IF.

RECURSIVE Among(_, _), Below(_, _)
Among(f, x) == Len(f) > 0 /\ (Head(f) = x \/ Among(Tail(f), x))
Below(f, x) == CASE f = <<>> -> 0 [] Head(f) < x -> 1 + Below(Tail(f), x) [] OTHER -> Below(Tail(f), x)

\* @invariant("found_by_recursion", "info", "state")
FoundByRecursion == Among(q, n)

\* @invariant("counted_by_recursion", "info", "state")
CountedByRecursion == Below(q, k) > 0

RECURSIVE Alternating(_), Assigned(_, _)
Alternating(f) == IF f = <<>> THEN k ELSE Head(f) - Alternating(Tail(f))
Assigned(f, m) == IF f = <<>> THEN m ELSE Assigned(Tail(f), [m EXCEPT ![key] = Head(f).at])

\* @invariant("folded_in_order", "info", "state")
FoldedInOrder == Alternating(q) >= n

\* @invariant("folded_into_function", "info", "state")
FoldedIntoFunction == LET m == Assigned(log, epoch) IN \A x \in live : x \in DOMAIN m => m[x] > n

=============================================================================
