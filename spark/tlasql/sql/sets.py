r"""Sets. A set that is infinite or large is never built: ``\in`` and ``\subseteq`` are written from the text
of the set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from sqlglot import exp

from tlasql.lang.errors import fail
from tlasql.lang.ir import Expr, Index, Literal, Op, Quantified, RecordSet, tell, text, walk
from tlasql.lang.shapes import (
    are_different,
    component,
    counts,
    domain_of,
    element_of,
    field_of,
    is_bounded,
    is_finite,
    is_total,
    is_virtual,
    members_of,
    part_of,
    type_of,
    written_out,
)
from tlasql.lang.types import BOOL, INT, STR, Function, Record, SeqOf, SetOf, Tuple, Type
from tlasql.sql import tree
from tlasql.sql.counting import Counting
from tlasql.sql.equality import contains
from tlasql.sql.ranging import Ranging
from tlasql.sql.translator import Translator

MOST_FUNCTIONS = 1024
"""How many functions of a set of functions are listed."""


class Sets:
    """The part of a translation that knows sets."""

    def __init__(self, values: Translator, counting: Counting, ranging: Ranging) -> None:
        self._values, self._dialect = values, values.dialect
        self._counting, self._ranging = counting, ranging

    def equality(self, left: Expr, right: Expr) -> exp.Expr:
        """``left = right``; with ``{}``, and of parts written out, without building what is compared."""
        kind = type_of(left)
        if text(left) == text(right) and all(is_total(each) for each in walk(left)):
            return exp.true()
        for one, other in ((left, right), (right, left)):
            if isinstance(other, Op) and other.symbol in ("{}", "<<>>") and not other.arguments:
                return self._empty(one)
            if counts(one) and not counts(other):
                return self._counting.compared("=", one, other)
        pairs = written_out(left, right)
        if pairs is not None:
            return tree.all_of(self.equality(a, b) for a, b in pairs)
        if isinstance(kind, SetOf) and (is_virtual(left) or is_virtual(right)):
            return tree.all_of([self._subset(left, right), self._subset(right, left)])
        return self._values.same(self._values.of(left), self._values.of(right), kind)

    def _empty(self, expr: Expr) -> exp.Expr:
        """Whether a set, sequence or function has no element."""
        if isinstance(expr.type, SetOf):
            return self._ranging.over(expr, None, exp.false, Literal(expr.location, False, type=BOOL), True)
        found = self._values.of(expr)
        array = self._dialect.keys(found) if isinstance(expr.type, Function) else found
        return exp.EQ(this=self._dialect.size(array), expression=exp.Literal.number(0))

    def filtered(self, expr: Quantified) -> exp.Expr:
        """``{x \\in S : P}``; an element whose P is unknown may be there."""
        dialect, kind = self._dialect, type_of(expr)
        none = dialect.array([], kind)

        def kept(each: exp.Expr) -> exp.Expr:
            test = self._values.inside(expr.variable, each, lambda: self._values.of(expr.body))
            here, perhaps = dialect.array([each.copy()], kind), dialect.array([exp.null()], kind)
            return tree.case_of(test, [(exp.true(), here), (exp.false(), none)], perhaps)

        name = self._values.fresh(expr.variable.name)
        domain = self._values.of(expr.domain)
        return tree.call("FLATTEN", dialect.transformed(domain, name, kept))

    def mapped(self, expr: Quantified) -> exp.Expr:
        """``{e : x \\in S}``"""
        return self._counting.distinct(self._images(expr), element_of(expr))

    def _images(self, expr: Expr) -> exp.Expr:
        """The array of a set, in which elements may repeat: ``{e : x \\in S}`` has one for each x."""
        if not (isinstance(expr, Quantified) and expr.kind == "map"):
            return self._values.of(expr)

        def change(each: exp.Expr) -> exp.Expr:
            found = self._values.inside(expr.variable, each, lambda: self._values.sized(expr.body))
            return exp.Case(ifs=[exp.If(this=tree.is_known(each.copy()), true=found)])

        return self._dialect.transformed(
            self._values.of(expr.domain), self._values.fresh(expr.variable.name), change
        )

    def function(self, expr: Quantified) -> exp.Expr:
        """``[x \\in S |-> e]``; not known while an argument is not."""
        values, dialect = self._values, self._dialect
        if isinstance(expr.type, SeqOf):  # over 1..n, or the DOMAIN of another
            return dialect.transformed(
                values.of(expr.domain),
                values.fresh(expr.variable.name),
                lambda each: values.inside(expr.variable, each, lambda: values.sized(expr.body)),
            )

        def built(keys: exp.Expr) -> exp.Expr:
            images = dialect.transformed(
                keys.copy(),
                values.fresh(expr.variable.name),
                lambda each: values.inside(expr.variable, each, lambda: values.sized(expr.body)),
            )
            complete = dialect.every(keys.copy(), values.fresh("k"), tree.is_known)
            return tree.case([(complete, dialect.map_of(keys.copy(), images))])

        return dialect.let(values.fresh("keys"), self._counting.once(expr.domain), built)

    def in_order(self, places: Expr) -> exp.Expr:
        """The numbers of a set, the least first; not known while one of them is not."""
        match places:
            case Op(symbol="..") | Op(symbol="DOMAIN", arguments=(Expr(type=SeqOf()),)):
                return self._values.of(places)
        return self._counting.when_known(places, self._dialect.in_order, self._counting.once(places))

    def chosen(self, expr: Quantified) -> exp.Expr:
        """``CHOOSE x \\in S : P``: the one that there is; of several nobody knows which."""
        variable, fresh = expr.variable, self._values.fresh

        def test(each: exp.Expr) -> exp.Expr:
            return self._values.inside(variable, each, lambda: self._values.of(expr.body))

        def only(domain: exp.Expr) -> exp.Expr:
            known = self._dialect.every(
                domain.copy(),
                fresh("e"),
                lambda each: tree.all_of(
                    [tree.is_known(each), tree.is_known(tree.grouped(test(each.copy())))]
                ),
            )
            matching = self._dialect.filtered(domain.copy(), fresh(variable.name), test)
            return self._dialect.let(fresh("found"), matching, lambda found: single(known, found))

        def single(known: exp.Expr, found: exp.Expr) -> exp.Expr:
            one = exp.Literal.number(1)
            alone = exp.EQ(this=self._dialect.size(found.copy()), expression=one)
            return tree.case(
                [(tree.all_of([known, alone]), self._dialect.at_index(found.copy(), one.copy()))]
            )

        return self._dialect.let(fresh("domain"), self._counting.once(expr.domain), only)

    def operator(self, expr: Op) -> exp.Expr:  # noqa: C901, PLR0911 (one each)
        """Everything else that makes or measures sets."""
        match expr.symbol, expr.arguments:
            case "\\in", (element, container):
                return self._member(element, container)
            case "\\subseteq", (left, right):
                return self._subset(left, right)
            case "Cardinality", (counted,):
                return self._counting.cardinality(counted)
            case "IsFiniteSet", (base,):
                return exp.true() if is_finite(base) else exp.false()
            case ("Min" | "Max") as symbol, (counted,):
                largest = symbol == "Max"
                array = self._images(counted)
                return self._counting.when_known(
                    counted, lambda known: self._dialect.extreme(known, largest), array
                )
            case "Sum", (counted,):
                return self._counting.when_known(counted, self._dialect.summed, self._counting.once(counted))
            case "SumOf", (function,):
                return self._counting.of_images(function, self._dialect.summed)
            case "ProductOf", (function,):
                return self._counting.of_images(function, self._dialect.multiplied)
            case "@@", (left, right):
                return self._joined(expr, left, right)
            case ":>", (key, image):
                return self._single(key, image)
        return self._set(expr)

    def _set(self, expr: Op) -> exp.Expr:  # noqa: C901, PLR0911, PLR0912 (one each)
        values, dialect = self._values, self._dialect
        match expr.symbol, expr.arguments:
            case "{}", members:
                array = dialect.array([values.sized(each) for each in members], type_of(expr))
                return array if are_different(members) else self._counting.distinct(array, element_of(expr))
            case "..", (low, high):
                return dialect.between(values.of(low), values.of(high))
            case "BOOLEAN", ():
                return dialect.array([exp.false(), exp.true()], type_of(expr))
            case "DOMAIN", (function,):
                return self._domain(function)
            case "\\cup", (left, right):
                one, other = values.of(left), values.of(right)
                kind = element_of(expr)
                added = dialect.filtered(
                    other,
                    values.fresh("e"),
                    lambda each: tree.negation(
                        tree.surely(contains(one.copy(), each, kind, dialect, values.fresh))
                    ),
                )
                return dialect.concatenated(one, added)
            case ("\\cap" | "\\") as symbol, (left, right):
                variable = self._values.variable(expr.location, "e", element_of(expr))
                test: Expr = Op(expr.location, "\\in", (variable, right), type=BOOL)
                if symbol == "\\":
                    test = Op(expr.location, "~", (test,), type=BOOL)
                return self.filtered(
                    Quantified(expr.location, "filter", variable, left, test, type=expr.type)
                )
            case "UNION", (sets,):
                return self._counting.distinct(dialect.flattened(self._images(sets)), element_of(expr))
            case "\\X", parts:
                return self._product([f"_{n}" for n in range(1, len(parts) + 1)], parts)
            case "SUBSET", (Op(symbol="{}", arguments=members),) if len(members) <= 8:
                chosen = [
                    Op(
                        expr.location,
                        "{}",
                        tuple(m for m, k in zip(members, bits, strict=True) if k),
                        type=element_of(expr),
                    )
                    for bits in product((False, True), repeat=len(members))
                ]
                array = dialect.array([values.of(each) for each in chosen], type_of(expr))
                return array if are_different(members) else self._counting.distinct(array, element_of(expr))
            case "SUBSET", (base,) if (whole := part_of(base)) is not None:
                some = self._values.variable(expr.location, "part", type_of(base))
                inside = Op(expr.location, "\\subseteq", (some, base), type=BOOL)
                every = Op(expr.location, "SUBSET", (whole,), type=expr.type)
                return self.filtered(Quantified(expr.location, "filter", some, every, inside, type=expr.type))
            case "SUBSET", (base,) if is_finite(base):
                return self._subsets(base)
            case "->", (arguments, results) if keys := _few_arguments(arguments, results):
                return self._functions(type_of(expr), keys, results)
        raise fail(
            expr.location,
            f"{tell(expr)} is too large to be listed",
            "test membership in it (x \\in ...), or range over a finite set",
        )

    def _subsets(self, base: Expr) -> exp.Expr:
        """All subsets of a set that a state has; unknown where it, or how many there are, is not known."""

        def listed(array: exp.Expr) -> exp.Expr:
            known = self._values.known(array.copy(), type_of(base))
            return tree.case([(known, self._dialect.subsets(array, self._values.fresh("e")))])

        return self._dialect.let(self._values.fresh("whole"), self._counting.once(base), listed)

    def _functions(self, kind: Type, keys: Sequence[Expr], results: Expr) -> exp.Expr:
        """All functions from a few values that are written out; unknown where they are too many."""
        values, dialect = self._values, self._dialect
        assert isinstance(kind, SetOf)
        most = next(n for n in range(MOST_FUNCTIONS, 0, -1) if n ** len(keys) <= MOST_FUNCTIONS)

        def made(images: Sequence[exp.Expr]) -> exp.Expr:
            array = exp.Array(expressions=[each.copy() for each in images])
            if isinstance(kind.element, SeqOf):
                return array
            arguments = dialect.array([values.sized(each) for each in keys], SetOf(type_of(keys[0])))
            return dialect.map_of(arguments, array)

        def listed(array: exp.Expr) -> exp.Expr:
            few = exp.LTE(this=dialect.size(array.copy()), expression=exp.Literal.number(most))
            return tree.case([(few, self._choices([array] * len(keys), made))])

        return dialect.let(values.fresh("images"), self._counting.once(results), listed)

    def _domain(self, function: Expr) -> exp.Expr:
        kind = function.type
        if isinstance(kind, SeqOf):
            length = self._dialect.size(self._values.of(function))
            return self._dialect.between(exp.Literal.number(1), length)
        if isinstance(kind, Record):
            return self._field_names(function, kind)
        if isinstance(kind, Tuple):
            numbers = [exp.Literal.number(n) for n in range(1, len(kind.parts) + 1)]
            return self._dialect.array(list(numbers), SetOf(INT))
        inner = domain_of(function)
        if inner is not None:
            return self._values.of(inner)
        return self._dialect.keys(self._values.of(function))

    def _field_names(self, record: Expr, kind: Record) -> exp.Expr:
        """The DOMAIN of a record; a field that is perhaps there is an unknown element."""
        dialect = self._dialect
        found = [tree.string(name) for name, _ in kind.fields if name not in kind.optional]
        names = dialect.array(found, SetOf(STR))
        for name in sorted(kind.optional):
            here, none = dialect.array([tree.string(name)], SetOf(STR)), dialect.array([], SetOf(STR))
            test, perhaps = self._values.has_field(record, name), dialect.array([exp.null()], SetOf(STR))
            more = tree.case_of(test, [(exp.true(), here), (exp.false(), none)], perhaps)
            names = dialect.concatenated(names, more)
        return names

    def _member(self, element: Expr, container: Expr) -> exp.Expr:  # noqa: C901, PLR0911, PLR0912 (one each)
        values = self._values
        found = values.of
        location = element.location
        inside = self._member
        match container:
            case Op(symbol="Int" | "STRING" | "BOOLEAN"):
                return exp.true()
            case Op(symbol="Nat"):
                return exp.GTE(this=tree.grouped(found(element)), expression=exp.Literal.number(0))
            case Op(symbol="..", arguments=(low, high)):
                shown = tree.grouped(found(element))
                return tree.all_of(
                    [
                        exp.GTE(this=shown, expression=tree.grouped(found(low))),
                        exp.LTE(this=shown.copy(), expression=tree.grouped(found(high))),
                    ]
                )
            case Op(symbol="{}", arguments=members):
                return tree.any_of(self.equality(element, each) for each in members)
            case Op(symbol="\\cup", arguments=(left, right)):
                return tree.any_of([inside(element, left), inside(element, right)])
            case Op(symbol="\\cap", arguments=(left, right)):
                return tree.all_of([inside(element, left), inside(element, right)])
            case Op(symbol="\\", arguments=(left, right)):
                return tree.all_of(
                    [inside(element, left), tree.negation(tree.grouped(inside(element, right)))]
                )
            case Op(symbol="SUBSET", arguments=(base,)):
                return self._subset(element, base)
            case Op(symbol="Seq", arguments=(base,)) if isinstance(element.type, SeqOf):
                return self._every_element(found(element), element.type.element, base)
            case Op(symbol="UNION", arguments=(Quantified(kind="map") as images,)) if is_bounded(images.body):
                held = Op(location, "\\in", (element, images.body), type=BOOL)
                return self._ranging.over(
                    images.domain, images.variable, lambda: inside(element, images.body), held, every=False
                )
            case Op(symbol="UNION", arguments=(sets,)):
                family = self._values.variable(location, "family", element_of(sets))
                held = Op(location, "\\in", (element, family), type=BOOL)
                return self._ranging.over(sets, family, lambda: inside(element, family), held, every=False)
            case Op(symbol="DOMAIN", arguments=(function,)) if domain_of(function) is not None:
                inner = domain_of(function)
                assert inner is not None
                return inside(element, inner)
            case Op(symbol="DOMAIN", arguments=(function,)) if isinstance(function.type, Record):
                if isinstance(name := found(element), exp.Literal):
                    return self._named(name.this, function)
                every = (Literal(location, name, type=STR) for name, _ in function.type.fields)
                pairs = ((self.equality(element, each), each) for each in every)
                return tree.any_of(
                    tree.all_of([same, self._named(str(each.value), function)]) for same, each in pairs
                )
            case Op(symbol="DOMAIN", arguments=(function,)) if isinstance(function.type, SeqOf):
                shown = tree.grouped(found(element))
                length = self._dialect.size(found(function))
                low_bound = exp.GTE(this=shown, expression=exp.Literal.number(1))
                return tree.all_of([low_bound, exp.LTE(this=shown.copy(), expression=length)])
            case Op(symbol="->", arguments=(arguments, results)):
                return self._in_function_set(element, arguments, results)
            case Op(symbol="\\X", arguments=parts):
                return tree.all_of(
                    inside(component(element, n), part) for n, part in enumerate(parts, start=1)
                )
            case RecordSet(names=names, arguments=parts):
                return tree.all_of(
                    [
                        *self._of_shape(element, names),
                        *(
                            inside(field_of(element, name), part)
                            for name, part in zip(names, parts, strict=True)
                        ),
                    ]
                )
            case Quantified(kind="filter", variable=variable, domain=domain, body=body):
                held_value = found(element)
                test = values.inside(variable, held_value, lambda: values.of(body))
                return tree.all_of([inside(element, domain), test])
            case Quantified(kind="map", variable=variable, domain=domain, body=body):
                same = Op(location, "=", (element, body), type=BOOL)
                return self._ranging.over(
                    domain, variable, lambda: self.equality(element, body), same, every=False
                )
        return contains(found(container), found(element), type_of(element), self._dialect, values.fresh)

    def _named(self, name: str, record: Expr) -> exp.Expr:
        assert isinstance(record.type, Record)
        return exp.false() if record.type.field(name) is None else self._values.has_field(record, name)

    def _of_shape(self, record: Expr, names: Sequence[str]) -> list[exp.Expr]:
        """Tests that hold where a record has the fields ``names`` and no others."""
        optional = record.type.optional if isinstance(record.type, Record) else ()
        tests = ((name, self._values.has_field(record, name)) for name in sorted(optional))
        return [test if name in names else tree.negation(test) for name, test in tests]

    def _in_function_set(self, element: Expr, arguments: Expr, results: Expr) -> exp.Expr:
        kind = element.type
        if isinstance(kind, SeqOf):  # [1..n -> S]
            positions = Op(element.location, "DOMAIN", (element,), type=SetOf(INT))
            inner = self._every_element(self._values.of(element), kind.element, results)
            return tree.all_of([self.equality(positions, arguments), inner])
        assert isinstance(kind, Function)
        domain = Op(element.location, "DOMAIN", (element,), type=SetOf(kind.argument))
        variable = self._values.variable(element.location, "k", kind.argument)
        image = Index(element.location, element, variable, type=kind.result)
        inside = Op(element.location, "\\in", (image, results), type=BOOL)
        every = self._ranging.over(domain, variable, lambda: self._member(image, results), inside, every=True)
        return tree.all_of([self.equality(domain, arguments), every])

    def _subset(self, left: Expr, right: Expr) -> exp.Expr:
        variable = self._values.variable(left.location, "e", element_of(left))
        inside = Op(left.location, "\\in", (variable, right), type=BOOL)
        return self._ranging.over(left, variable, lambda: self._member(variable, right), inside, every=True)

    def _every_element(self, array: exp.Expr, kind: Type, base: Expr) -> exp.Expr:
        variable = self._values.variable(base.location, "e", kind)
        name = self._values.fresh("e")
        return self._dialect.every(
            array,
            name,
            lambda each: self._values.inside(variable, each, lambda: self._member(variable, base)),
        )

    def _joined(self, expr: Op, left: Expr, right: Expr) -> exp.Expr:
        kind = type_of(expr)
        if not isinstance(kind, Function):
            raise fail(expr.location, "@@ of sequences", "write the whole as a function: [x \\in S |-> ...]")
        domains = [Op(expr.location, "DOMAIN", (each,), type=SetOf(kind.argument)) for each in (left, right)]
        union = Op(expr.location, "\\cup", tuple(domains), type=SetOf(kind.argument))
        variable = self._values.variable(expr.location, "k", kind.argument)
        images = tuple(Index(expr.location, each, variable, type=kind.result) for each in (left, right))
        first = Op(expr.location, "\\in", (variable, domains[0]), type=BOOL)
        body = Op(expr.location, "IF", (first, *images), type=kind.result)
        return self.function(Quantified(expr.location, "function", variable, union, body, type=kind))

    def _single(self, key: Expr, image: Expr) -> exp.Expr:
        values, dialect = self._values, self._dialect
        keys = dialect.array([values.sized(key)], SetOf(type_of(key)))
        images = dialect.array([values.sized(image)], SetOf(type_of(image)))
        made = dialect.map_of(keys, images)
        return made if isinstance(key, Literal) else tree.case([(tree.is_known(values.of(key)), made)])

    def records(self, expr: RecordSet) -> exp.Expr:
        """``[a : S, b : T]``, all of them."""
        kind = element_of(expr)
        assert isinstance(kind, Record)
        if not kind.optional:
            return self._product([kind.column(name) for name in expr.names], expr.arguments)

        def made(chosen: Sequence[exp.Expr]) -> exp.Expr:
            given, fields = dict(zip(expr.names, chosen, strict=True)), []
            for (column, stored), (name, _) in zip(kind.stored, kind.fields, strict=True):
                held = [given[name].copy()] if name in given else []
                fields.append(
                    (column, self._dialect.array(held, stored) if name in kind.optional else held[0])
                )
            return self._dialect.struct(fields)

        return self._combined(expr.arguments, made)

    def _product(self, names: Sequence[str], parts: Sequence[Expr]) -> exp.Expr:
        """All tuples or records."""
        return self._combined(
            parts,
            lambda chosen: self._dialect.struct(
                [(n, each.copy()) for n, each in zip(names, chosen, strict=True)]
            ),
        )

    def _combined(self, parts: Sequence[Expr], made: Callable[[Sequence[exp.Expr]], exp.Expr]) -> exp.Expr:
        """One result for each choice of an element of every part."""
        return self._choices([self._values.of(each) for each in parts], made)

    def _choices(
        self, arrays: Sequence[exp.Expr], made: Callable[[Sequence[exp.Expr]], exp.Expr]
    ) -> exp.Expr:
        """One result for each choice of an element of every array: nested images, made flat."""
        values, dialect = self._values, self._dialect

        def level(index: int, chosen: list[exp.Expr]) -> exp.Expr:
            if index == len(arrays):
                known = tree.all_of(tree.is_known(each.copy()) for each in chosen)
                return tree.case([(known, made(chosen))])
            inner = dialect.transformed(
                arrays[index].copy(), values.fresh("e"), lambda each: level(index + 1, [*chosen, each])
            )
            return inner if index == len(arrays) - 1 else dialect.flattened(inner)

        return level(0, [])


def _few_arguments(arguments: Expr, results: Expr) -> tuple[Expr, ...]:
    """The arguments of functions that may be listed; none where they are not written out, or the functions
    are too many in every state.
    """
    keys = members_of(arguments)
    match results:
        case Op(symbol="SUBSET", arguments=(base,)):
            least = 2 ** len(members_of(base))
        case _:
            least = len(members_of(results))
    return keys if is_bounded(results) and least ** len(keys) <= MOST_FUNCTIONS else ()
