r"""SANY's XML to the intermediate representation: declarations, definitions, and bodies on demand.

Only the bodies that marked definitions reach are translated, so the behaviour of a module may use all of
TLA+.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tlasql.errors import Location, fail
from tlasql.ir import Bound, Call, Constant, Expr, Field, Index, Literal, Op, Prime, Quantified, Variable

Xml = ElementTree.Element

_STANDARD = {"Naturals", "Integers", "Reals", "Sequences", "FiniteSets", "TLC", "Bags"}
# SANY's name -> the spelling used in the representation
_OPERATORS = {
    "\\land": "/\\", "$ConjList": "/\\", "\\lor": "\\/", "$DisjList": "\\/", "\\lnot": "~", "=>": "=>",
    "\\equiv": "<=>", "=": "=", "\\in": "\\in", "\\intersect": "\\cap", "DOMAIN": "DOMAIN",
    "$IfThenElse": "IF", "$SetEnumerate": "{}",
}  # fmt: skip
_NEGATED = {"/=": "=", "\\notin": "\\in"}
_ARITHMETIC = {"+": "+", "-": "-", "*": "*", "-.": "-.", "<": "<", ">": ">", "\\leq": "<=", "\\geq": ">="}
_QUANTIFIERS = {"$BoundedForall": "\\A", "$BoundedExists": "\\E", "$SubsetOf": "filter"}
_INSTEAD = {
    "$BoundedChoose": "say it with a quantifier",
    "$UnboundedChoose": "say it with a quantifier",
    "$UnboundedForall": "quantify over a DOMAIN or a set: \\A x \\in S : ...",
    "$UnboundedExists": "quantify over a DOMAIN or a set: \\E x \\in S : ...",
    "$Case": "write IF ... THEN ... ELSE ...",
    "\\union": "write two conjuncts, one over each set",
    "$SetOfAll": "quantify over the set itself and apply the expression in the body",
    "Cardinality": "state it with quantifiers",
    "UNCHANGED": "write x' = x",
    "\\div": "TLA+ rounds down where SQL cuts off: multiply the other side instead",
    "%": "TLA+'s result is never negative where SQL's may be: state it without",
}


@dataclass(frozen=True)
class Declaration:
    """A VARIABLE or CONSTANT."""

    name: str
    location: Location
    is_variable: bool


@dataclass(frozen=True)
class Definition:
    """An operator definition; ``level`` is 0 constant, 1 state, 2 action, 3 temporal."""

    name: str
    uid: int
    location: Location
    level: int
    parameters: tuple[Bound, ...]
    xml: Xml


class Module:
    """A module as SANY resolved it, with all that it extends.

    ``file`` is how the root module was named on the command line; positions in extended modules name the file
    beside it.
    """

    def __init__(self, xml: Xml, file: Path) -> None:
        self.file = file
        self.name = file.stem
        self._context: dict[int, Xml] = {}
        for entry in xml.iter("entry"):
            self._context[int(_text(entry, "UID"))] = entry[1]
        self._bodies: dict[int, Expr] = {}
        self.modules = [
            name
            for node in self._context.values()
            if node.tag == "ModuleNode" and (name := _text(node, "uniquename")) not in _STANDARD
        ]

    def source(self, module: str) -> Path:
        """The file of a module of the specification."""
        return self.file.with_name(f"{module}.tla")

    def declarations(self) -> list[Declaration]:
        """Every VARIABLE and CONSTANT, in no particular order."""
        return [
            Declaration(_text(node, "uniquename"), self._location(node), _text(node, "kind") == "3")
            for node in self._context.values()
            if node.tag == "OpDeclNode"
        ]

    def definitions(self) -> list[Definition]:
        """The top-level definitions of the specification's own modules, in the order of the sources."""
        listed = {
            int(_text(reference, "UID"))
            for node in self._context.values()
            if node.tag == "ModuleNode" and _text(node, "uniquename") in self.modules
            for reference in node.findall("UserDefinedOpKindRef")
        }
        found = [self.definition(uid) for uid in listed]
        own = [each for each in found if Path(each.location.file).stem in self.modules]
        return sorted(own, key=lambda each: each.location)

    def definition(self, uid: int) -> Definition:
        """The definition SANY numbered ``uid``."""
        node = self._context[uid]
        parameters = tuple(
            self._parameter(reference, node) for reference in node.iterfind("params/leibnizparam/*")
            if reference.tag == "FormalParamNodeRef"
        )  # fmt: skip
        return Definition(
            _text(node, "uniquename"), uid, self._location(node), int(_text(node, "level")), parameters, node
        )

    def body(self, uid: int) -> Expr:
        """The translated body of a definition. Raises TlaSqlError at the first construct outside the
        fragment.
        """
        if uid not in self._bodies:
            node = self._context[uid]
            self._bodies[uid] = self._expression(_child(node, "body")[0])
        return self._bodies[uid]

    def _location(self, node: Xml) -> Location:
        found = node.find("location")
        if found is None:
            return Location(str(self.file), 1, 1)
        line, column = _child(found, "line"), _child(found, "column")
        return Location(
            str(self.source(_text(found, "filename"))),
            int(_text(line, "begin")),
            int(_text(column, "begin")),
            int(_text(line, "end")),
            int(_text(column, "end")),
        )

    def _parameter(self, reference: Xml, user: Xml) -> Bound:
        uid = int(_text(reference, "UID"))
        node = self._context[uid]
        if _text(node, "arity") != "0":
            raise _outside(self._location(user), "an operator as parameter", "pass the expression itself")
        return Bound(self._location(node), _text(node, "uniquename"), uid)

    def _expression(self, node: Xml) -> Expr:
        location = self._location(node)
        match node.tag:
            case "NumeralNode":
                return Literal(location, int(_text(node, "IntValue")))
            case "StringNode":
                return Literal(location, _text(node, "StringValue"))
            case "LetInNode":  # its definitions are inlined like all others
                return self._expression(_child(node, "body")[0])
            case "OpApplNode":
                return self._application(node, location)
        raise _outside(location, f"this expression ({node.tag})")

    def _application(self, node: Xml, location: Location) -> Expr:
        reference = _child(node, "operator")[0]
        uid = int(_text(reference, "UID"))
        target = self._context[uid]
        name = _text(target, "uniquename")
        match target.tag:
            case "OpDeclNode":
                return Variable(location, name) if _text(target, "kind") == "3" else Constant(location, name)
            case "FormalParamNode":
                return Bound(location, name, uid)
            case "BuiltInKind":
                return self._builtin(node, name, location)
        if _text(_child(target, "location"), "filename") in _STANDARD:
            if name not in _ARITHMETIC:
                raise _outside(location, name, _INSTEAD.get(name, ""))
            return Op(location, _ARITHMETIC[name], self._operands(node))
        return Call(location, name, uid, self._operands(node))

    def _builtin(self, node: Xml, name: str, location: Location) -> Expr:  # noqa: PLR0911 (one each)
        if name in _QUANTIFIERS:
            return self._quantified(node, _QUANTIFIERS[name], location)
        if name in ("TRUE", "FALSE"):
            return Literal(location, name == "TRUE")
        if name not in _OPERATORS and name not in _NEGATED and name not in ("'", "$FcnApply", "$RcdSelect"):
            shown = name.removeprefix("$")
            raise _outside(location, shown, _INSTEAD.get(name, ""))
        operands = self._operands(node)
        match name:
            case "'":
                return Prime(location, operands[0])
            case "$FcnApply":
                return Index(location, operands[0], operands[1])
            case "$RcdSelect":
                selector = operands[1]
                assert isinstance(selector, Literal)
                return Field(location, operands[0], str(selector.value))
            case _ if name in _NEGATED:
                return Op(location, "~", (Op(location, _NEGATED[name], operands),))
            case _:
                return Op(location, _OPERATORS[name], operands)

    def _operands(self, node: Xml) -> tuple[Expr, ...]:
        return tuple(self._expression(each) for each in _child(node, "operands"))

    def _quantified(self, node: Xml, kind: str, location: Location) -> Expr:
        body = self._expression(_child(node, "operands")[0])
        bounds: list[tuple[Bound, Expr]] = []
        for bound in _child(node, "boundSymbols"):
            if bound.tag != "bound" or bound.find("tuple") is not None:
                raise _outside(location, "this kind of bound", "write one name and its set: x \\in S")
            domain = self._expression(bound[-1])
            bounds += [(self._parameter(each, node), domain) for each in bound.findall("FormalParamNodeRef")]
        if kind == "filter" and len(bounds) != 1:
            raise _outside(location, "a set filter over several names", "write one name and its set")
        for variable, domain in reversed(bounds):
            body = Quantified(location, kind, variable, domain, body)
        return body


def _outside(location: Location, what: str, remedy: str = "") -> Exception:
    return fail(location, f"{what} is outside the fragment that can be judged over logs", remedy)


def _child(node: Xml, tag: str) -> Xml:
    found = node.find(tag)
    assert found is not None, (node.tag, tag)
    return found


def _text(node: Xml, tag: str) -> str:
    return node.findtext(tag) or ""
