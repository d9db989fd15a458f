r"""SANY's XML to the intermediate representation: declarations, definitions, and bodies on demand.

Only the bodies that marked definitions reach are translated, so the behaviour of a module may use all of
TLA+.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tlasql.bodies import Bodies
from tlasql.errors import Location
from tlasql.ir import Bound, Expr

Xml = ElementTree.Element

_STANDARD = {"Naturals", "Integers", "Reals", "Sequences", "FiniteSets", "TLC", "Bags"}


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
            Declaration(_text(node, "uniquename"), self.location(node), _text(node, "kind") == "3")
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
            self.parameter(reference) for reference in node.iterfind("params/leibnizparam/*")
            if reference.tag == "FormalParamNodeRef"
        )  # fmt: skip
        return Definition(
            _text(node, "uniquename"), uid, self.location(node), int(_text(node, "level")), parameters, node
        )

    def body(self, uid: int) -> Expr:
        """The translated body of a definition. Raises TlaSqlError at the first construct outside the
        fragment.
        """
        if uid not in self._bodies:
            node = self._context[uid]
            self._bodies[uid] = Bodies(self).expression(_child(node, "body")[0])
        return self._bodies[uid]

    def location(self, node: Xml) -> Location:
        """Where a node stands in the sources."""
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

    def parameter(self, reference: Xml) -> Bound:
        """The parameter or quantified variable that SANY refers to."""
        uid = int(_text(reference, "UID"))
        node = self._context[uid]
        return Bound(self.location(node), _text(node, "uniquename"), uid)

    def target(self, reference: Xml) -> tuple[int, str, Xml]:
        """SANY's number, name and node of what a reference names."""
        uid = int(_text(reference, "UID"))
        node = self._context[uid]
        return uid, _text(node, "uniquename"), node

    @staticmethod
    def is_standard(node: Xml) -> bool:
        """Whether a definition stands in a standard module."""
        return _text(_child(node, "location"), "filename") in _STANDARD


def _child(node: Xml, tag: str) -> Xml:
    found = node.find(tag)
    assert found is not None, (node.tag, tag)
    return found


def _text(node: Xml, tag: str) -> str:
    return node.findtext(tag) or ""
