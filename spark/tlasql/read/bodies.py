"""Bodies of definitions: expressions read from SANY's XML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby

from tlasql.java.sany import Xml, child, text_of
from tlasql.lang.errors import Location, TlaSqlError, fail
from tlasql.lang.ir import (
    Apply,
    Bound,
    Call,
    Constant,
    Except,
    Expr,
    Field,
    Index,
    Lambda,
    Literal,
    Op,
    Prime,
    Quantified,
    RecordOf,
    RecordSet,
    Substituted,
    Variable,
)
from tlasql.read.binders import bind, taken_apart
from tlasql.read.nodes import Nodes

# SANY's name -> the spelling used in the representation
_OPERATORS = {
    "\\land": "/\\", "$ConjList": "/\\", "\\lor": "\\/", "$DisjList": "\\/", "\\lnot": "~", "=>": "=>",
    "\\equiv": "<=>", "=": "=", "\\in": "\\in", "\\intersect": "\\cap", "\\union": "\\cup", "\\": "\\",
    "\\subseteq": "\\subseteq", "UNION": "UNION", "SUBSET": "SUBSET", "DOMAIN": "DOMAIN", "$IfThenElse": "IF",
    "$SetEnumerate": "{}", "$Tuple": "<<>>", "$SetOfFcns": "->", "$CartesianProd": "\\X",
}  # fmt: skip
_SETS = {"BOOLEAN", "STRING", "Nat", "Int"}
_NEGATED = {"/=": "=", "\\notin": "\\in"}
_LIBRARY = {
    "+": "+", "-": "-", "*": "*", "-.": "-.", "<": "<", ">": ">", "\\leq": "<=", "\\geq": ">=", "..": "..",
    "\\div": "\\div", "%": "%", "Cardinality": "Cardinality", "Len": "Len", "Head": "Head", "Tail": "Tail",
    "SubSeq": "SubSeq", "Append": "Append", "\\o": "\\o", "\\circ": "\\o", "Seq": "Seq", ":>": ":>",
    "@@": "@@",
}  # fmt: skip
_BINDERS = {
    "$BoundedForall": "\\A", "$BoundedExists": "\\E", "$SubsetOf": "filter", "$SetOfAll": "map",
    "$FcnConstructor": "function", "$NonRecursiveFcnSpec": "function", "$BoundedChoose": "choose",
}  # fmt: skip
_INSTEAD = {
    "$UnboundedChoose": "choose from a set, or give the definition a value in the mapping: [constants]",
    "$UnboundedForall": "quantify over a DOMAIN or a set: \\A x \\in S : ...",
    "$UnboundedExists": "quantify over a DOMAIN or a set: \\E x \\in S : ...",
    "$Nop": "define that part by a name of its own, and use the name",
    "DecimalNode": "count in a smaller unit: columns hold integers",
    "\\cdot": "say what one step does",
    "Bags": "a bag is a function: write B[x], DOMAIN B and [x \\in S |-> ...]",
}
_UNLIKE_TLC = {
    "SortSeq": "say of which sequence it is true: \\A i, j \\in DOMAIN s : i < j => s[i] <= s[j]",
    "Permutations": "range over [S -> S], and say that no two have one value",
    "ToString": "compare the value itself",
    **dict.fromkeys(
        ("JavaTime", "TLCGet", "TLCSet", "RandomElement", "TLCEvalDefinition", "Any"),
        "it is TLC's own, and a log has none: say why it is left out in [skip] of the mapping",
    ),
}
"""What to write instead of operators of the module TLC."""
_CALLED = {
    "$UnboundedChoose": "CHOOSE without a set", "$UnboundedForall": "\\A without a set",
    "$UnboundedExists": "\\E without a set", "DecimalNode": "a number with decimals",
    "$Nop": "a part of a definition that is named by its place or label",
}  # fmt: skip
"""What a reader calls it."""
_OTHERWISE = "say it with the operators that docs/tlasql.md lists"
_TEMPORAL = {"[]", "<>", "~>", "$WF", "$SF", "-+->", "$TemporalForall", "$TemporalExists"}
LARGEST_POWER = 64
_NO_TIME = "only [] around a whole definition is understood: state what is true of one state or one step"


@dataclass(frozen=True)
class Recursive(Expr):
    """A function that applies itself: in ``function``, ``own`` names it; gone once inlined."""

    own: Bound
    function: Quantified


class Bodies:
    """Translates the bodies of one module."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._old: list[Expr] = []
        """What @ stands for, in the EXCEPT that is read and in those around it."""

    def expression(self, node: Xml) -> Expr:
        """The expression of a node. Raises TlaSqlError at the first construct outside the fragment."""
        location = self._nodes.location(node)
        match node.tag:
            case "NumeralNode":
                return Literal(location, int(text_of(node, "IntValue")))
            case "StringNode":
                return Literal(location, text_of(node, "StringValue"))
            case "LetInNode" | "LabelNode":  # what LET defines is inlined like all else
                return self.expression(child(node, "body")[0])
            case "AtNode":
                return self._at(location)
            case "SubstInNode":
                return self._substituted(node, location)
            case "OpApplNode":
                return self._application(node, location)
        what = _CALLED.get(node.tag, f"this expression ({node.tag})")
        raise outside(location, what, _INSTEAD.get(node.tag, _OTHERWISE))

    def _application(self, node: Xml, location: Location) -> Expr:
        uid, name, target = self._nodes.target(child(node, "operator")[0])
        match target.tag:
            case "OpDeclNode":
                operands = self._operands(node)
                if operands:
                    return Apply(location, Bound(location, name, uid), operands)
                kind = Variable if text_of(target, "kind") == "3" else Constant
                return kind(location, name, uid)
            case "FormalParamNode":
                operands = self._operands(node)
                bound = Bound(location, name, uid)
                return Apply(location, bound, operands) if operands else bound
            case "BuiltInKind":
                return self._builtin(node, name, location)
        if self._nodes.is_standard(target) and not self._nodes.is_of_bags(target):
            own = name.rpartition("!")[2] or name
            instead = _UNLIKE_TLC.get(own) or _INSTEAD.get(self._nodes.home(target), _OTHERWISE)
            return self._library(node, own, location, instead)
        return Call(location, name, uid, self._operands(node))

    def _library(  # noqa: PLR0911 (one each)
        self, node: Xml, name: str, location: Location, instead: str
    ) -> Expr:
        """An operator of a standard module; ``instead``: what to write for one that has no meaning."""
        if name in _SETS:
            return Op(location, name, ())
        operands = self._operands(node)
        match name:
            case "IsFiniteSet":
                return Op(location, "IsFiniteSet", operands)
            case "PrintT":
                return Op(location, "Evaluated", operands)
            case "Assert":  # TLC stops where it is false
                test, words = operands
                evaluated = Op(location, "Evaluated", (words,))
                return Op(location, "CASE", (Op(location, "AND", (test, evaluated)), Literal(location, True)))
            case "TLCEval":
                return operands[0]
            case "Print":
                return Op(location, "IF", (Op(location, "Evaluated", operands[:1]), *operands[1:] * 2))
            case "^":
                return _power(location, *operands)
            case "SelectSeq":
                return _selected(location, *operands)
            case _ if name in _LIBRARY:
                return Op(location, _LIBRARY[name], operands)
        raise outside(location, name, instead)

    def _builtin(self, node: Xml, name: str, location: Location) -> Expr:
        if name in _BINDERS:
            return self._bound(node, _BINDERS[name], location)
        if name in ("TRUE", "FALSE"):
            return Literal(location, name == "TRUE")
        if name in _SETS:
            return Op(location, name, ())
        if name in _TEMPORAL:
            raise outside(location, f"the temporal operator {name.removeprefix('$')}", _NO_TIME)
        if name in _INSTEAD:
            raise outside(location, _CALLED.get(name, name), _INSTEAD[name])
        if name in _NEGATED:
            return Op(location, "~", (Op(location, _NEGATED[name], self._operands(node)),))
        if name in _OPERATORS:
            return Op(location, _OPERATORS[name], self._operands(node))
        return self._special(node, name, location)

    def _special(self, node: Xml, name: str, location: Location) -> Expr:  # noqa: C901, PLR0911 (one each)
        match name:
            case "'":
                return Prime(location, self._operands(node)[0])
            case "ENABLED":
                return Op(location, "ENABLED", self._operands(node))
            case "UNCHANGED":
                return _unchanged(location, self._operands(node)[0])
            case "$SquareAct":
                action, subscript = self._operands(node)
                return Op(location, "\\/", (action, _unchanged(location, subscript)))
            case "$AngleAct":
                action, subscript = self._operands(node)
                moved = Op(location, "~", (_unchanged(location, subscript),))
                return Op(location, "/\\", (action, moved))
            case "$FcnApply":
                function, *keys = self._operands(node)
                key = keys[0] if len(keys) == 1 else Op(location, "<<>>", tuple(keys))
                return Index(location, function, key)
            case "$RcdSelect":
                record, selector = self._operands(node)
                assert isinstance(selector, Literal)
                return Field(location, record, str(selector.value))
            case "$RcdConstructor" | "$SetOfRcds":
                return self._record(node, location, RecordOf if name == "$RcdConstructor" else RecordSet)
            case "$Except":
                return self._except(node, location)
            case "$Case":
                return self._case(node, location)
            case "$RecursiveFcnSpec":
                return self._recursive(node, location)
        raise outside(location, name.removeprefix("$"))

    def always(self, node: Xml) -> Expr:
        r"""What ``[]P``, ``[][A]_v``, and ``/\`` and ``\A`` of such claim of one state or step."""
        location = self._nodes.location(node)
        if node.tag == "OpApplNode":
            uid, name, target = self._nodes.target(child(node, "operator")[0])
            if name == "[]":
                return self.expression(child(node, "operands")[0])
            if name in ("\\land", "$ConjList"):
                return Op(location, "/\\", tuple(self.always(each) for each in child(node, "operands")))
            if name == "$BoundedForall":
                return self._bound(node, "\\A", location, self.always)
            if target.tag == "UserDefinedOpKind":
                return Call(location, name, uid, self._operands(node))
        raise outside(location, "this temporal formula", _NO_TIME)

    def _operands(self, node: Xml) -> tuple[Expr, ...]:
        return tuple(self._operand(each) for each in child(node, "operands"))

    def _operand(self, node: Xml) -> Expr:
        if node.tag != "OpArgNode":
            return self.expression(node)
        location = self._nodes.location(node)
        uid, name, target = self._nodes.target(child(node, "argument")[0])
        if target.tag in ("FormalParamNode", "OpDeclNode"):
            return Bound(location, name, uid)
        names = self._nodes.parameters(uid)
        is_text = self._nodes.is_of_bags(target) or not self._nodes.is_standard(target)
        if target.tag == "UserDefinedOpKind" and is_text:
            return Lambda(location, names, Call(location, name, uid, names))
        symbol = _OPERATORS.get(name) or _LIBRARY.get(name.rpartition("!")[2] or name)
        if symbol is None:
            raise outside(location, f"{name} as an argument", f"write LAMBDA a, b : a {name} b")
        if not names:  # of a built-in operator SANY names no parameters
            arity = int(text_of(target, "arity"))
            names = tuple(Bound(location, f"p{n}", -(10**7) - n) for n in range(1, arity + 1))
        return Lambda(location, names, Op(location, symbol, names))

    def _record(self, node: Xml, location: Location, kind: type[RecordOf | RecordSet]) -> Expr:
        pairs = [child(pair, "operands") for pair in child(node, "operands")]
        names = tuple(text_of(pair[0], "StringValue") for pair in pairs)
        return kind(location, names, tuple(self.expression(pair[1]) for pair in pairs))

    def _case(self, node: Xml, location: Location) -> Expr:
        arms: list[Expr] = []
        for pair in child(node, "operands"):
            test, value = child(pair, "operands")
            other = test.tag == "StringNode" and (test.text or "").strip() == "$Other"
            arms += [] if other else [self.expression(test)]
            arms.append(self.expression(value))
        return Op(location, "CASE", tuple(arms))

    def _except(self, node: Xml, location: Location) -> Expr:
        base, *changes = child(node, "operands")
        read: list[tuple[list[Expr], Xml]] = []
        for change in changes:
            path, value = child(change, "operands")
            read.append(([self.expression(each) for each in child(path, "operands")], value))
        return self._changed(location, self.expression(base), read)

    def _changed(self, location: Location, found: Expr, changes: list[tuple[list[Expr], Xml]]) -> Expr:
        """``found`` with all changes, one after the other; those below one key are made together."""
        for key, group in groupby(changes, lambda change: change[0][0] if change[0][1:] else None):
            same = list(group)
            if key is not None:
                old = Index(location, found, key)
                new = self._changed(location, old, [(keys[1:], value) for keys, value in same])
                found = Except(location, found, key, new)
                continue
            for (last,), value in same:
                self._old.append(Index(location, found, last))
                new = self.expression(value)
                self._old.pop()
                found = Except(location, found, last, new)
        return found

    def _at(self, location: Location) -> Expr:
        if not self._old:
            raise outside(location, "@ in a definition of its own", "write the old value out")
        return replace(self._old[-1], location=location)

    def _substituted(self, node: Xml, location: Location) -> Expr:
        declarations, arguments = [], []
        for each in child(node, "substs"):
            target, given = each[0], each[1]
            declarations.append(int(text_of(target, "UID")))
            arguments.append(self._operand(given))
        body = self.expression(child(node, "body")[0])
        return Substituted(location, tuple(declarations), tuple(arguments), body)

    def _bound(
        self, node: Xml, kind: str, location: Location, read: Callable[[Xml], Expr] | None = None
    ) -> Expr:
        body = (read or self.expression)(child(node, "operands")[0])
        bounds: list[tuple[Bound, Expr]] = []
        for bound in node.iterfind("boundSymbols/bound"):
            domain = self.expression(bound[-1])
            names = [self._nodes.parameter(each) for each in bound.findall("FormalParamNodeRef")]
            if bound.find("tuple") is not None:
                whole, body = taken_apart(location, names, body)
                bounds.append((whole, domain))
            else:
                bounds += [(each, domain) for each in names]
        return bind(location, kind, bounds, body)

    def _recursive(self, node: Xml, location: Location) -> Expr:
        """``f[x \\in S] == e`` where ``e`` applies ``f``."""
        own = self._nodes.parameter(child(child(node, "boundSymbols"), "unbound")[0])
        function = self._bound(node, "function", location)
        assert isinstance(function, Quantified)
        return Recursive(location, own, function)


def _power(location: Location, base: Expr, exponent: Expr) -> Expr:
    """``base ^ exponent`` written out; TLC has no value for ``0 ^ 0``, nor for a negative exponent."""
    some = Op(location, "~", (Op(location, "=", (base, Literal(location, 0))),))
    if not (isinstance(exponent, Literal) and isinstance(exponent.value, int)):
        return _power_of_any(location, base, exponent, some)
    if exponent.value > LARGEST_POWER:
        raise outside(location, "so large a power", f"the largest exponent is {LARGEST_POWER}")
    if isinstance(base, Literal) and isinstance(base.value, int) and (base.value or exponent.value):
        return Literal(location, base.value**exponent.value)
    if exponent.value == 0:
        return Op(location, "CASE", (some, Literal(location, 1)))
    found = base
    for _ in range(exponent.value - 1):
        found = Op(location, "*", (found, base))
    return found


def _power_of_any(location: Location, base: Expr, exponent: Expr, some: Expr) -> Expr:
    """A product of as many factors, where they are not more than any number but 0 and 1 has in 64 bits."""
    least, most = Literal(location, 1), Literal(location, LARGEST_POWER)
    factors = Op(location, "..", (least, exponent))
    place = exponent.location
    number = Bound(location, "factor", -(10**8) - 1_000 * place.line - place.column)
    product = Op(location, "ProductOf", (Quantified(location, "function", number, factors, base),))
    none = Op(location, "/\\", (Op(location, "=", (exponent, Literal(location, 0))), some))
    within = Op(location, "\\in", (exponent, Op(location, "..", (least, most))))
    return Op(location, "CASE", (none, Literal(location, 1), within, product))


def _selected(location: Location, sequence: Expr, test: Expr) -> Expr:
    """``SelectSeq(s, Test)`` by the positions of what it keeps."""
    name = test if isinstance(test, Bound) else test.parameters[0] if isinstance(test, Lambda) else None
    assert name is not None
    position = Bound(location, "i", -name.uid)
    element = Index(location, sequence, position)
    kept: Expr = Apply(location, name, (element,))
    if isinstance(test, Lambda):
        kept = Substituted(location, (name.uid,), (element,), test.body)
    domain = Op(location, "DOMAIN", (sequence,))
    return Op(location, "SelectSeq", (sequence, Quantified(location, "filter", position, domain, kept)))


def _unchanged(location: Location, expr: Expr) -> Expr:
    return Op(location, "=", (Prime(location, expr), expr))


def outside(location: Location, what: str, remedy: str = _OTHERWISE) -> TlaSqlError:
    """The error of a construct that has no meaning over logs."""
    return fail(location, f"{what} is outside the fragment that can be judged over logs", remedy)
