"""Bodies of definitions: SANY's XML of an expression to the intermediate representation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from tlasql.errors import Location, TlaSqlError, fail
from tlasql.ir import (
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

if TYPE_CHECKING:
    from tlasql.reader import Module

Xml = ElementTree.Element

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
    "$FcnConstructor": "function", "$BoundedChoose": "choose",
}  # fmt: skip
_INSTEAD = {
    "$UnboundedChoose": "choose from a set: CHOOSE x \\in S : ...",
    "$UnboundedForall": "quantify over a DOMAIN or a set: \\A x \\in S : ...",
    "$UnboundedExists": "quantify over a DOMAIN or a set: \\E x \\in S : ...",
    "ENABLED": "say what must be true of the state",
    "$RecursiveFcnSpec": "write it with a quantifier, or as a sum, minimum or maximum of a set",
}


class Bodies:
    """Translates the bodies of one module."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._paths: list[tuple[Expr, list[Expr]]] = []

    def expression(self, node: Xml) -> Expr:
        """The expression of a node. Raises TlaSqlError at the first construct outside the fragment."""
        location = self._module.location(node)
        match node.tag:
            case "NumeralNode":
                return Literal(location, int(_text(node, "IntValue")))
            case "StringNode":
                return Literal(location, _text(node, "StringValue"))
            case "LetInNode":  # its definitions are inlined like all others
                return self.expression(_child(node, "body")[0])
            case "AtNode":
                return self._at(location)
            case "SubstInNode":
                return self._substituted(node, location)
            case "OpApplNode":
                return self._application(node, location)
        raise _outside(location, f"this expression ({node.tag})")

    def _application(self, node: Xml, location: Location) -> Expr:  # noqa: PLR0911 (one each)
        uid, name, target = self._module.target(_child(node, "operator")[0])
        match target.tag:
            case "OpDeclNode":
                kind = Variable if _text(target, "kind") == "3" else Constant
                return kind(location, name, uid)
            case "FormalParamNode":
                operands = self._operands(node)
                bound = Bound(location, name, uid)
                return Apply(location, bound, operands) if operands else bound
            case "BuiltInKind":
                return self._builtin(node, name, location)
        if self._module.is_standard(target):
            if name in _SETS:
                return Op(location, name, ())
            if name == "IsFiniteSet":
                return Literal(location, True)
            if name not in _LIBRARY:
                raise _outside(location, name, _INSTEAD.get(name, ""))
            return Op(location, _LIBRARY[name], self._operands(node))
        return Call(location, name, uid, self._operands(node))

    def _builtin(self, node: Xml, name: str, location: Location) -> Expr:  # noqa: C901, PLR0911, PLR0912 (one each)
        if name in _BINDERS:
            return self._bound(node, _BINDERS[name], location)
        if name in ("TRUE", "FALSE"):
            return Literal(location, name == "TRUE")
        if name in _SETS:
            return Op(location, name, ())
        match name:
            case "'":
                return Prime(location, self._operands(node)[0])
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
            case _ if name in _NEGATED:
                positive = Op(location, _NEGATED[name], self._operands(node))
                return Op(location, "~", (positive,))
            case _ if name in _OPERATORS:
                return Op(location, _OPERATORS[name], self._operands(node))
        raise _outside(location, name.removeprefix("$"), _INSTEAD.get(name, ""))

    def _operands(self, node: Xml) -> tuple[Expr, ...]:
        return tuple(self._operand(each) for each in _child(node, "operands"))

    def _operand(self, node: Xml) -> Expr:
        if node.tag != "OpArgNode":
            return self.expression(node)
        location = self._module.location(node)
        uid, name, target = self._module.target(_child(node, "argument")[0])
        if target.tag == "FormalParamNode":
            return Bound(location, name, uid)
        if target.tag != "UserDefinedOpKind" or self._module.is_standard(target):
            raise _outside(location, f"{name} as an argument", f"write LAMBDA a, b : a {name} b")
        parameters = self._module.definition(uid).parameters
        return Lambda(location, parameters, self._module.body(uid))

    def _record(self, node: Xml, location: Location, kind: type[RecordOf | RecordSet]) -> Expr:
        pairs = [_child(pair, "operands") for pair in _child(node, "operands")]
        names = tuple(_text(pair[0], "StringValue") for pair in pairs)
        return kind(location, names, tuple(self.expression(pair[1]) for pair in pairs))

    def _case(self, node: Xml, location: Location) -> Expr:
        arms: list[Expr] = []
        for pair in _child(node, "operands"):
            test, value = _child(pair, "operands")
            other = test.tag == "StringNode" and (test.text or "").strip() == "$Other"
            arms += [] if other else [self.expression(test)]
            arms.append(self.expression(value))
        return Op(location, "CASE", tuple(arms))

    def _except(self, node: Xml, location: Location) -> Expr:
        base, *changes = _child(node, "operands")
        found = self.expression(base)
        for change in changes:
            path, value = _child(change, "operands")
            keys = [self.expression(each) for each in _child(path, "operands")]
            self._paths.append((found, keys))
            new = self.expression(value)
            self._paths.pop()
            found = _changed(location, found, keys, new)
        return found

    def _at(self, location: Location) -> Expr:
        found, keys = self._paths[-1]
        for key in keys:
            found = _step(location, found, key)
        return found

    def _substituted(self, node: Xml, location: Location) -> Expr:
        declarations, arguments = [], []
        for each in _child(node, "substs"):
            target, given = each[0], each[1]
            declarations.append(int(_text(target, "UID")))
            arguments.append(self._operand(given))
        body = self.expression(_child(node, "body")[0])
        return Substituted(location, tuple(declarations), tuple(arguments), body)

    def _bound(self, node: Xml, kind: str, location: Location) -> Expr:
        body = self.expression(_child(node, "operands")[0])
        bounds: list[tuple[Bound, Expr]] = []
        for bound in _child(node, "boundSymbols"):
            domain = self.expression(bound[-1])
            names = [self._module.parameter(each) for each in bound.findall("FormalParamNodeRef")]
            if bound.find("tuple") is not None:
                whole = Bound(location, "_".join(each.name for each in names), -names[0].uid)
                parts = [Index(location, whole, Literal(location, n)) for n in range(1, len(names) + 1)]
                body = _replaced(body, names, parts)
                bounds.append((whole, domain))
            else:
                bounds += [(each, domain) for each in names]
        return _binder(location, kind, bounds, body)


def _unchanged(location: Location, expr: Expr) -> Expr:
    return Op(location, "=", (Prime(location, expr), expr))


def _changed(location: Location, base: Expr, keys: list[Expr], value: Expr) -> Expr:
    key, *rest = keys
    inner = _changed(location, _step(location, base, key), rest, value) if rest else value
    return Except(location, base, key, inner)


def _step(location: Location, base: Expr, key: Expr) -> Expr:
    return Index(location, base, key)


def _outside(location: Location, what: str, remedy: str = "") -> TlaSqlError:
    return fail(location, f"{what} is outside the fragment that can be judged over logs", remedy)


def _child(node: Xml, tag: str) -> Xml:
    found = node.find(tag)
    assert found is not None, (node.tag, tag)
    return found


def _text(node: Xml, tag: str) -> str:
    return node.findtext(tag) or ""
