r"""Any expression of the fragment as one SQL expression over columns, in Kleene's three values.

The SQL is TRUE or FALSE only where the expression is so whatever the unknown values are. Where TLC would
refuse to evaluate it (``f[x]`` outside the DOMAIN, ``Head(<<>>)``, ``x \div 0``) it is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from tlasql.lang.errors import fail
from tlasql.lang.ir import (
    Bound,
    Except,
    Expr,
    Field,
    Fold,
    Index,
    Literal,
    Model,
    Op,
    Prime,
    Quantified,
    RecordOf,
    RecordSet,
    Variable,
    free,
    substitute,
    tell,
    text,
)
from tlasql.lang.shapes import counts, may_lack, type_of
from tlasql.lang.types import BOOL, Function, Record, SeqOf, SetOf, Tuple, Type
from tlasql.sql import tree
from tlasql.sql.counting import COMPARED, Counting
from tlasql.sql.dialect import Dialect
from tlasql.sql.ranging import Ranging
from tlasql.sql.sets import Sets
from tlasql.sql.translator import Columns, Translator, big

_COMPUTED = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
_NAMED = (Variable, Prime, Bound, Field, Index, Quantified)
"""What a frame may have a column for; see ``label_of`` for folds."""
LARGEST = 2**63 - 1


def value(expr: Expr, columns: Columns, dialect: Dialect) -> exp.Expr:
    """``expr`` as SQL; ``columns`` has the column of every state expression by its TLA+ text.

    Raises TlaSqlError at what has no finite value.
    """
    return Values(columns, dialect).of(expr)


def label_of(fold: Fold) -> str:
    """By what ``columns`` have the column of a fold. One text may have several types, as ``<<>>`` has, and
    speak of several variables of one name. What its author calls it may be the name of another fold, too.
    """
    return f"{text(fold)} : {fold.type} : {sorted(free(fold))}"


class Values(Translator):
    """Translates every kind of expression, with the help of the parts that know quantifiers and sets."""

    def __init__(self, columns: Columns, dialect: Dialect) -> None:
        super().__init__(columns, dialect)
        self._counting = Counting(self)
        self._ranging = Ranging(self)
        self._sets = Sets(self, self._counting, self._ranging)

    def of(self, expr: Expr) -> exp.Expr:  # noqa: C901, PLR0911, PLR0912 (one for each kind)
        """The value of ``expr``."""
        self.count(expr)
        if isinstance(expr, Bound) and expr.uid in self.bound:
            return self.bound[expr.uid].copy()
        if isinstance(expr, _NAMED) and (column := self.columns.get(text(expr))) is not None:
            return column.copy()
        if isinstance(expr, Fold) and (column := self._column_of(expr)) is not None:
            return column.copy()
        match expr:
            case Literal(value=bool() as found):
                return exp.true() if found else exp.false()
            case Literal(value=int() as found):
                return _number(expr, found)
            case Literal(value=str() as found) | Model(name=found):
                return tree.string(found)
            case Field(record=record, name=name):
                return self._field(record, name)
            case Index(function=function, key=key):
                return self._index(function, key)
            case RecordOf(names=names, arguments=arguments):
                return self._record(expr, dict(zip(names, arguments, strict=True)))
            case RecordSet():
                return self._sets.records(expr)
            case Except():
                return self._except(expr)
            case Quantified():
                return self._quantified(expr)
            case Fold():
                return self._fold(expr)
            case Op():
                return self._operator(expr)
        raise fail(expr.location, f"{tell(expr)} has no finite value", "use it to the right of \\in only")

    def _field(self, record: Expr, name: str) -> exp.Expr:
        match record:
            case RecordOf(names=names, arguments=arguments) if name in names:
                return self.of(dict(zip(names, arguments, strict=True))[name])
            case RecordOf(type=Record() as kind):
                return self.dialect.null(type_of(Field(record.location, record, name, type=kind.field(name))))
            case Except(function=inner, key=Literal(value=changed), value=new):
                if changed != name:
                    return self._field(inner, name)
                found = self.of(new)
                return tree.case([(self.has_field(inner, name), found)]) if may_lack(inner, name) else found
            case Op(symbol="IF", arguments=(test, then, other)):
                return self._if(test, self._field(then, name), self._field(other, name), None)
        assert isinstance(record.type, Record)
        found = self.dialect.field(self.of(record), record.type.column(name))
        return self.dialect.at_index(found, exp.Literal.number(1)) if may_lack(record, name) else found

    def has_field(self, record: Expr, name: str) -> exp.Expr:
        r"""``"name" \in DOMAIN record``"""
        match record:
            case RecordOf(names=names):
                return exp.true() if name in names else exp.false()
            case Except(function=inner):
                return self.has_field(inner, name)
        assert isinstance(record.type, Record)
        if name not in record.type.optional:
            return exp.true()
        found = self.dialect.field(self.of(record), record.type.column(name))
        return exp.EQ(this=self.dialect.size(found), expression=exp.Literal.number(1))

    def _index(self, function: Expr, key: Expr) -> exp.Expr:  # noqa: PLR0911 (one each)
        kind = function.type
        if isinstance(kind, Tuple):
            if not isinstance(key, Literal):
                raise fail(key.location, "a tuple is indexed by a number", "write the number itself")
            if isinstance(function, Op) and function.symbol == "<<>>":
                return self.of(function.arguments[int(key.value) - 1])
            return self.dialect.field(self.of(function), f"_{key.value}")
        if isinstance(kind, SeqOf):
            return self.dialect.at_index(self.of(function), self.of(key))
        match function:
            case Quantified(kind="function", variable=variable, domain=domain, body=body):
                inside = self.of(Op(key.location, "\\in", (key, domain), type=BOOL))
                return tree.case([(inside, self.of(substitute(body, variable, key)))])
            case Except(function=inner, key=changed, value=new):
                here = self.same(self.of(key), self.of(changed), type_of(key))
                keys = Op(key.location, "DOMAIN", (inner,), type=SetOf(type_of(key)))
                present = self.of(Op(key.location, "\\in", (key, keys), type=BOOL))
                then = tree.case([(present, self.of(new))])
                return choice(here, then, self._index(inner, key))
            case Op(symbol="IF", arguments=(test, then, other)):
                return self._if(test, self._index(then, key), self._index(other, key), None)
        return self.dialect.at_key(self.of(function), self.sized(key))

    def _record(self, expr: Expr, given: Mapping[str, Expr]) -> exp.Expr:
        assert isinstance(expr.type, Record)
        found, optional = [], expr.type.optional
        for (column, kind), (name, _) in zip(expr.type.stored, expr.type.fields, strict=True):
            values = [self.sized(given[name])] if name in given else []
            found.append((column, self.dialect.array(values, kind) if name in optional else values[0]))
        return self.dialect.struct(found)

    def _except(self, expr: Except) -> exp.Expr:
        kind, dialect = expr.type, self.dialect
        if isinstance(kind, Record):
            assert isinstance(expr.key, Literal)
            name = str(expr.key.value)
            column, optional = kind.column(name), name in kind.optional

            def changed(old: exp.Expr) -> exp.Expr:
                """The new value; of a field that some records lack, an array as long as the old one."""
                if not optional:
                    return self.sized(expr.value)
                return dialect.transformed(old, self.fresh("old"), lambda _: self.sized(expr.value))

            def updated(old: exp.Expr) -> exp.Expr:
                fields = [(each, dialect.field(old.copy(), each)) for each in kind.columns]
                fields = [(each, changed(part) if each == column else part) for each, part in fields]
                return tree.case([(tree.is_known(old.copy()), dialect.struct(fields))])

            return dialect.let(self.fresh("old"), self.of(expr.function), updated)
        let, fresh = self.dialect.let, self.fresh
        key, new = self.of(expr.key), self.sized(expr.value)
        return let(
            fresh("f"),
            self.of(expr.function),
            lambda f: let(
                fresh("at"), key, lambda k: let(fresh("new"), new, lambda n: self._replaced(expr, f, k, n))
            ),
        )

    def _replaced(self, expr: Except, function: exp.Expr, key: exp.Expr, new: exp.Expr) -> exp.Expr:
        kind, dialect = expr.type, self.dialect
        name = self.fresh("at")
        if isinstance(kind, SeqOf):
            return dialect.with_index(
                function, name, lambda old, n: choice(eq(n, key.copy()), new.copy(), old)
            )
        assert isinstance(kind, Function)

        def changed(at: exp.Expr) -> exp.Expr:
            here = self.same(at.copy(), key.copy(), type_of(expr.key))
            return choice(here, new.copy(), dialect.at_key(function.copy(), at))

        keys = dialect.keys(function)
        return dialect.map_of(keys, dialect.transformed(keys.copy(), name, changed))

    def _column_of(self, fold: Fold) -> exp.Expr | None:
        """The column of a fold that speaks of nothing bound here."""
        return None if free(fold) & self.bound.keys() else self.columns.get(label_of(fold))

    def _fold(self, expr: Fold) -> exp.Expr:
        return self.once(expr.places, expr, self._stepwise)

    def _stepwise(self, expr: Fold) -> exp.Expr:
        so_far, place = expr.parameters

        def step(value: exp.Expr, number: exp.Expr) -> exp.Expr:
            inner = lambda: self.sized(expr.body)  # noqa: E731
            return self.inside(so_far, value, lambda: self.inside(place, number, inner))

        places = self._sets.in_order(expr.places)
        if expr.backward:
            places = self.dialect.reversed(places)
        names = (self.fresh(so_far.name), self.fresh(place.name))
        return self.dialect.folded(places, self.sized(expr.start), names, step, type_of(expr))

    def _quantified(self, expr: Quantified) -> exp.Expr:
        return self.once(expr.domain, expr, self._ranged)

    def _ranged(self, expr: Quantified) -> exp.Expr:
        match expr.kind:
            case "\\A" | "\\E":
                return self._ranging.quantified(expr)
            case "filter":
                return self._sets.filtered(expr)
            case "map":
                return self._sets.mapped(expr)
            case "function":
                return self._sets.function(expr)
            case _:
                return self._sets.chosen(expr)

    def _operator(self, expr: Op) -> exp.Expr:  # noqa: C901, PLR0911, PLR0912 (one each)
        arguments = expr.arguments
        match expr.symbol:
            case "/\\" | "AND":
                return tree.all_of(self.of(each) for each in arguments)
            case "\\/" | "OR":
                return tree.any_of(self.of(each) for each in arguments)
            case "~":
                return tree.negation(self.of(arguments[0]))
            case "=>":
                return tree.any_of([tree.negation(self.of(arguments[0])), self.of(arguments[1])])
            case "<=>":
                return eq(tree.grouped(self.of(arguments[0])), tree.grouped(self.of(arguments[1])))
            case "Evaluated":  # where it is not, the definition has no value at all
                return exp.true()
            case "=":
                return self._sets.equality(arguments[0], arguments[1])
            case "IF":
                return self._if(arguments[0], self.of(arguments[1]), self.of(arguments[2]), expr.type)
            case "CASE":
                return self._case(arguments, type_of(expr))
            case "-." if isinstance(arguments[0], Literal):
                return _number(expr, -int(arguments[0].value))
            case "-.":
                zero = big(exp.Literal.number(0))
                return self.dialect.computed(exp.Sub, zero, tree.grouped(self.of(arguments[0])))
            case "\\div":
                return self._quotient(*(self.of(each) for each in arguments))
            case "%":
                return self._remainder(*(self.of(each) for each in arguments))
            case symbol if symbol in COMPARED and sum(counts(each) for each in arguments) == 1:
                return self._counting.compared(symbol, *arguments)
            case symbol if symbol in COMPARED:
                left, right = (tree.grouped(self.of(each)) for each in arguments)
                return COMPARED[symbol](this=left, expression=right)
            case symbol if symbol in _COMPUTED and (known := _constant(symbol, arguments)) is not None:
                return _number(expr, known)
            case symbol if symbol in _COMPUTED:
                left, right = (tree.grouped(self.of(each)) for each in arguments)
                return self.dialect.computed(_COMPUTED[symbol], big(left), right)
            case "<<>>":
                return self._tuple(expr)
            case "Len" | "Head" | "Last" | "Tail" | "SubSeq" | "SelectSeq" | "Append" | "\\o":
                return self._sequence(expr)
            case _:
                return self._sets.operator(expr)

    def _if(self, test: Expr, then: exp.Expr, other: exp.Expr, kind: Type | None) -> exp.Expr:
        """An unknown test decides nothing unless both branches agree.

        Long branches are written once, since a branch may be a choice as well.
        """
        plain = kind is not None and not isinstance(kind, SetOf | Function | Record | SeqOf | Tuple)
        if not plain or _is_null(then) or _is_null(other):
            return choice(self.of(test), then, other)

        def chosen(one: exp.Expr, two: exp.Expr) -> exp.Expr:
            agreed = tree.case([(eq(tree.grouped(one.copy()), tree.grouped(two.copy())), one.copy())])
            return tree.case_of(self.of(test), [(exp.true(), one), (exp.false(), two)], agreed)

        if not tree.is_long(then, other):
            return chosen(then, other)
        let, fresh = self.dialect.let, self.fresh
        return let(fresh("then"), then, lambda one: let(fresh("other"), other, lambda two: chosen(one, two)))

    def _case(self, arguments: tuple[Expr, ...], kind: Type) -> exp.Expr:
        """The first arm that is true, as TLC reads it; unknown when none is."""
        pairs = list(zip(arguments[::2], arguments[1::2], strict=False))
        found = self.of(arguments[-1]) if len(arguments) % 2 else self.dialect.null(kind)
        for test, arm in reversed(pairs):
            found = self._if(test, self.of(arm), found, kind)
        return found

    def _quotient(self, a: exp.Expr, b: exp.Expr) -> exp.Expr:
        """Rounded down, where SQL cuts off."""
        return self._let2(a, b, _rounded_down)

    def _remainder(self, a: exp.Expr, b: exp.Expr) -> exp.Expr:
        """Never negative; only of a positive divisor."""
        return self._let2(a, b, _never_negative)

    def _let2(self, a: exp.Expr, b: exp.Expr, body: Callable[[exp.Expr, exp.Expr], exp.Expr]) -> exp.Expr:
        """``body`` of two integers, each computed once."""
        one, other = (big(tree.grouped(each)) for each in (a, b))
        let, fresh = self.dialect.let, self.fresh
        return let(fresh("a"), one, lambda x: let(fresh("b"), other, lambda y: body(x.copy(), y.copy())))

    def _tuple(self, expr: Op) -> exp.Expr:
        if isinstance(expr.type, Function):
            return self.dialect.empty(expr.type)
        if isinstance(expr.type, SeqOf):
            return self.dialect.array([self.sized(each) for each in expr.arguments], expr.type)
        return self.dialect.struct(
            [(f"_{n}", self.sized(each)) for n, each in enumerate(expr.arguments, start=1)]
        )

    def _sequence(self, expr: Op) -> exp.Expr:  # noqa: PLR0911 (one each)
        dialect, arguments = self.dialect, expr.arguments
        first = self.of(arguments[0])
        one = exp.Literal.number(1)
        length = dialect.size(first.copy())
        match expr.symbol:
            case "Len":
                return length
            case "Head":
                return dialect.at_index(first, one)
            case "Last":
                return dialect.at_index(first, length)
            case "Tail":
                some = exp.GT(this=length.copy(), expression=exp.Literal.number(0))
                return tree.case([(some, dialect.rest(first))])
            case "Append":
                assert isinstance(expr.type, SeqOf)
                return dialect.concatenated(first, dialect.array([self.sized(arguments[1])], expr.type))
            case "\\o":
                return dialect.concatenated(first, self.of(arguments[1]))
            case "SelectSeq":
                return dialect.let(self.fresh("at"), self.of(arguments[1]), lambda at: self._at(first, at))
        assert isinstance(expr.type, SeqOf)
        return self._subsequence(first, arguments[1], arguments[2], expr.type)

    def _at(self, sequence: exp.Expr, positions: exp.Expr) -> exp.Expr:
        """The elements at the positions, once all of these are known."""
        dialect, fresh = self.dialect, self.fresh
        known = dialect.every(positions, fresh("e"), tree.is_known)
        here = dialect.transformed(positions.copy(), fresh("e"), lambda n: dialect.at_index(sequence, n))
        return tree.case([(known, here)])

    def _subsequence(self, first: exp.Expr, low_: Expr, high_: Expr, kind: SeqOf) -> exp.Expr:
        """``SubSeq(s, low, high)``: empty where high is below low, unknown beyond the ends."""
        dialect, one = self.dialect, exp.Literal.number(1)
        low, high = (big(tree.grouped(self.of(each))) for each in (low_, high_))
        within = exp.LTE(this=high, expression=dialect.size(first.copy()))
        inside: exp.Expr = within
        if not _positive(low):
            inside = tree.all_of([exp.GTE(this=low, expression=one), within])
        wide = exp.Add(this=exp.Sub(this=high.copy(), expression=low.copy()), expression=one.copy())
        found = [(inside, dialect.slice(first.copy(), low.copy(), wide))]
        if not (
            isinstance(low_, Literal) and isinstance(high_, Literal) and int(low_.value) <= int(high_.value)
        ):
            none = tree.case([(tree.is_known(first.copy()), dialect.empty(kind))])
            found.insert(0, (exp.GT(this=low.copy(), expression=high.copy()), none))
        return tree.case(found)


def _constant(symbol: str, arguments: tuple[Expr, ...]) -> int | None:
    """The result, where both numbers are written out."""
    found = []
    for each in arguments:
        match each:
            case Literal(value=int() as number):
                found.append(number)
            case Op(symbol="-.", arguments=(Literal(value=int() as number),)):
                found.append(-number)
            case _:
                return None
    left, right = found
    return left + right if symbol == "+" else left - right if symbol == "-" else left * right


def _is_null(value: exp.Expr) -> bool:
    return isinstance(value, exp.Null) or (isinstance(value, exp.Cast) and isinstance(value.this, exp.Null))


def _number(expr: Expr, value: int) -> exp.Expr:
    if abs(value) > LARGEST:
        raise fail(expr.location, f"{value} has more than 64 bits", "no column of a log holds such a number")
    return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))


def _divisor(b: exp.Expr) -> exp.Expr:
    """No zero: an engine may compute a quotient before it asks whether there is one."""
    return b if _positive(b) else tree.call("NULLIF", b, exp.Literal.number(0))


def _rounded_down(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    divided, zero = exp.IntDiv(this=a, expression=_divisor(b)), exp.Literal.number(0)
    rest = exp.Mod(this=a.copy(), expression=_divisor(b.copy()))
    down = exp.Sub(this=divided.copy(), expression=exp.Literal.number(1))
    if _positive(b):
        cut = exp.LT(this=rest, expression=zero)
        return tree.case_of(cut, [(exp.true(), down), (exp.false(), divided)])
    # what is left has the sign of the dividend
    opposite = exp.LT(
        this=exp.Paren(this=exp.Mul(this=tree.call("SIGN", rest), expression=b.copy())), expression=zero
    )
    rounded = tree.case_of(opposite, [(exp.true(), down), (exp.false(), divided)])
    return tree.case([(exp.NEQ(this=b.copy(), expression=zero.copy()), rounded)])


def _never_negative(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    inner, zero = exp.Paren(this=exp.Mod(this=a, expression=_divisor(b))), exp.Literal.number(0)
    # a remainder plus a divisor near 2^63 would overflow: add only to what is negative
    lifted = exp.Add(this=inner.copy(), expression=b.copy())
    negative = exp.LT(this=inner, expression=zero)
    found = tree.case_of(negative, [(exp.true(), lifted), (exp.false(), inner.copy())])
    if _positive(b):
        return found
    return tree.case([(exp.GT(this=b.copy(), expression=zero.copy()), found)])


def _positive(divisor: exp.Expr) -> bool:
    """Whether it is a number written out."""
    inner = divisor.this if isinstance(divisor, exp.Cast) else divisor
    return isinstance(inner, exp.Literal) and inner.is_int and int(inner.this) > 0


def eq(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Equality of scalars."""
    return exp.EQ(this=left, expression=right)


def choice(test: exp.Expr, then: exp.Expr, other: exp.Expr) -> exp.Expr:
    """One of two values, unknown when the test is."""
    return tree.case_of(test, [(exp.true(), then), (exp.false(), other)])
