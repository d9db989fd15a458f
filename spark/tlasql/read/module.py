r"""A module read from SANY's XML: its declarations, its definitions, and their bodies on demand.

Only the bodies that marked definitions reach are translated, so the behaviour of a module may use all of
TLA+.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tlasql.java.sany import Xml, child, text_of
from tlasql.lang.errors import Location
from tlasql.lang.ir import Bound, Expr
from tlasql.read.bodies import Bodies
from tlasql.read.nodes import STANDARD, Nodes, file_of

TEMPORAL = 3
_NO_NAME = "is not the name of a predicate or a step"
_NO_END = "is about a whole behaviour, and a log has no end: claim [] of a predicate or a step"
_Claim = tuple[int | None, Location, str]
"""The definition that is judged, or None; the place; why none is."""


@dataclass(frozen=True)
class Declaration:
    """A VARIABLE or CONSTANT."""

    name: str
    location: Location
    is_variable: bool


@dataclass(frozen=True)
class Definition:
    """An operator definition; ``level`` is 0 constant, 1 state, 2 action, 3 temporal.

    ``always``: the definition is ``[]P`` or ``[][A]_v``; its level is that of ``P`` or ``[A]_v``.
    ``of_bags``: it stands in the standard module of bags.
    """

    name: str
    uid: int
    location: Location
    level: int
    parameters: tuple[Bound, ...]
    recursive: bool = False
    always: bool = False
    of_bags: bool = False


class Module(Nodes):
    """A module as SANY resolved it, with all that it extends."""

    def __init__(self, xml: Xml, file: Path, libraries: Sequence[Path] = ()) -> None:
        super().__init__(xml, file, libraries)
        self.name = file.stem
        self._bodies: dict[int, Expr] = {}
        nodes = {text_of(node, "uniquename"): node for node in self._of("ModuleNode")}
        self._root = nodes[self.name]
        own = {each: _references(node) for each, node in nodes.items() if each not in STANDARD}
        visible = own[self.name]
        self.every = tuple(own)  # those that are instantiated too
        self.modules = [each for each, found in own.items() if self._made_in(each, found) <= visible]

    def _of(self, tag: str) -> Iterator[Xml]:
        return (node for node in self.by_number.values() if node.tag == tag)

    def _made_in(self, module: str, found: frozenset[int]) -> frozenset[int]:
        """The declarations of a module itself. A module that extends it sees all of them."""
        declared = [uid for uid in found if self.by_number[uid].tag == "OpDeclNode"]
        return frozenset(uid for uid in declared if file_of(self.by_number[uid]) == module)

    def declarations(self) -> list[Declaration]:
        """Every VARIABLE and CONSTANT of the module and what it extends, in no particular order."""
        nodes = (self.by_number[uid] for uid in _references(self._root))
        return [
            Declaration(text_of(node, "uniquename"), self.location(node), text_of(node, "kind") == "3")
            for node in nodes
            if node.tag == "OpDeclNode"
        ]

    def definitions(self) -> list[Definition]:
        """The top-level definitions of the specification's own modules, in the order of the sources."""
        found = (uid for uid in _references(self._root) if self.by_number[uid].tag == "UserDefinedOpKind")
        own = (uid for uid in found if not self.is_standard(self.by_number[uid]))
        return sorted((self.definition(uid) for uid in own), key=lambda each: each.location)

    @cached_property
    def named(self) -> dict[str, Definition]:
        """The same by their names."""
        return {each.name: each for each in self.definitions()}

    @cached_property
    def _claims(self) -> list[_Claim]:
        """What a THEOREM claims of a behaviour, as ``Spec => []TypeOK`` or ``[]TypeOK`` does."""
        nodes = (self.by_number[uid] for uid in _references(self._root))
        found: list[_Claim] = []
        for node in nodes:
            body = node.find("body") if node.tag == "TheoremNode" else None
            if body is not None and len(body) and body[0].tag == "OpApplNode":
                _, name, _ = self.target(child(body[0], "operator")[0])
                claim = child(body[0], "operands")[1] if name == "=>" else body[0]
                found += self._claimed(claim, always=False)
        return found

    def claimed(self) -> frozenset[int]:
        """The definitions that a THEOREM claims of every state or step."""
        return frozenset(uid for uid, _, _ in self._claims if uid is not None)

    def left(self) -> list[tuple[Location, str]]:
        """What a THEOREM claims of a behaviour and what is not judged, with the reason."""
        return sorted({(where, why) for uid, where, why in self._claims if uid is None})

    def _claimed(self, node: Xml, always: bool) -> list[_Claim]:
        """``always``: a box is around it."""
        where = self.location(node)
        if node.tag == "OpApplNode":
            uid, name, target = self.target(child(node, "operator")[0])
            operands = list(child(node, "operands"))
            if name in ("\\land", "$ConjList"):
                return [claim for each in operands for claim in self._claimed(each, always)]
            if (name == "[]" and not always) or (name == "$SquareAct" and always):
                return self._claimed(operands[0], always=True)
            if target.tag == "UserDefinedOpKind" and not operands:
                found = self.definition(uid)
                if found.always or (always and found.level < TEMPORAL):
                    return [(uid, where, "")]
        if always or self._always_level(node) is not None:
            return [(None, where, _NO_NAME)]
        return [(None, where, _NO_END)] if int(node.findtext("level") or 0) == TEMPORAL else []

    def definition(self, uid: int) -> Definition:
        """The definition SANY numbered ``uid``."""
        node = self.by_number[uid]
        level, always = int(text_of(node, "level")), False
        body = child(node, "body")[0]
        if level == TEMPORAL:
            inner = self._always_level(body)
            level, always = inner or TEMPORAL, inner is not None
        return Definition(
            text_of(node, "uniquename"),
            uid,
            self.location(node),
            level,
            self.parameters(uid),
            node.find("recursive") is not None,
            always,
            self.is_of_bags(node),
        )

    def _always_level(self, node: Xml) -> int | None:
        r"""The level of what ``[]P``, ``[][A]_v``, ``/\`` and ``\A`` of such claim; of others None."""
        if node.tag != "OpApplNode":
            return None
        uid, name, target = self.target(child(node, "operator")[0])
        operands = list(child(node, "operands"))
        if name == "[]":
            level = int(text_of(operands[0], "level"))
            return level if level < TEMPORAL else None
        if name in ("\\land", "$ConjList"):
            levels = [self._always_level(each) for each in operands]
            return None if None in levels else max(each for each in levels if each is not None)
        if name == "$BoundedForall":  # of a set that changes, [] is about its elements in the first state
            bounds = node.iterfind("boundSymbols/bound")
            rigid = all(int(text_of(each[-1], "level")) == 0 for each in bounds)
            return self._always_level(operands[0]) if rigid else None
        if target.tag == "UserDefinedOpKind" and all(
            int(each.findtext("level") or 1) == 0 for each in operands
        ):
            definition = self.definition(uid)
            return definition.level if definition.always else None
        return None

    def body(self, uid: int) -> Expr:
        """The translated body of a definition. Raises TlaSqlError at the first construct outside the
        fragment.
        """
        if uid not in self._bodies:
            body = child(self.by_number[uid], "body")[0]
            bodies = Bodies(self)
            temporal = self.definition(uid).always
            self._bodies[uid] = bodies.always(body) if temporal else bodies.expression(body)
        return self._bodies[uid]

    def mentioned(self, uid: int) -> frozenset[str]:
        """The VARIABLEs of this module that are written in a definition, or in one that it applies."""
        own = {
            ref: text_of(self.by_number[ref], "uniquename")
            for ref in _references(self._root)
            if self.by_number[ref].tag == "OpDeclNode" and text_of(self.by_number[ref], "kind") == "3"
        }
        found: set[str] = set()
        seen, pending = {uid}, [uid]
        while pending:
            for each in self.by_number[pending.pop()].iter("UID"):
                number = int(each.text or "0")
                if number in own:
                    found.add(own[number])
                elif number not in seen and self._is_own(number):
                    seen.add(number)
                    pending.append(number)
        return frozenset(found)

    def _is_own(self, uid: int) -> bool:
        node = self.by_number.get(uid)
        return node is not None and node.tag == "UserDefinedOpKind" and not self.is_standard(node)


def _references(module: Xml) -> frozenset[int]:
    return frozenset(int(text_of(each, "UID")) for each in module if each.tag.endswith("Ref"))
