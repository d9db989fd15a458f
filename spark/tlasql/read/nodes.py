"""The nodes of SANY's XML: what a reference names, and where a node stands in the sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tlasql.java.sany import Xml, child, text_of
from tlasql.lang.errors import Location
from tlasql.lang.ir import Bound

STANDARD = frozenset(
    ("Naturals", "Integers", "Reals", "Sequences", "FiniteSets", "TLC", "Bags", "RealTime", "Randomization")
)

_NEVER_READ = frozenset(("BagUnion", "BagOfAll", "SubBag"))
"""Of the standard module of bags: sets of bags, and operators as arguments."""


class Nodes:
    """The nodes of a module and all that it extends, by the numbers that SANY gives them.

    ``file`` is how the module was named on the command line; positions in extended modules name the file
    beside it, or in one of the folders ``libraries``.
    """

    def __init__(self, xml: Xml, file: Path, libraries: Sequence[Path] = ()) -> None:
        self.file, self._folders = file, (file.parent, *libraries)
        self.by_number: dict[int, Xml] = {}
        for entry in xml.iter("entry"):
            self.by_number[int(text_of(entry, "UID"))] = entry[1]

    def source(self, module: str) -> Path:
        """The file of a module of the specification."""
        places = [folder / f"{module}.tla" for folder in self._folders]
        return next((each for each in places if each.is_file()), self.file.with_name(f"{module}.tla"))

    def location(self, node: Xml) -> Location:
        """Where a node stands in the sources."""
        found = node.find("location")
        if found is None:
            return Location(str(self.file), 1, 1)
        line, column = child(found, "line"), child(found, "column")
        return Location(
            str(self.source(text_of(found, "filename"))),
            int(text_of(line, "begin")),
            int(text_of(column, "begin")),
            int(text_of(line, "end")),
            int(text_of(column, "end")),
        )

    def parameters(self, uid: int) -> tuple[Bound, ...]:
        """The parameters of a definition."""
        found = self.by_number[uid].iterfind("params/leibnizparam/FormalParamNodeRef")
        return tuple(self.parameter(reference) for reference in found)

    def parameter(self, reference: Xml) -> Bound:
        """The parameter or quantified variable that SANY refers to."""
        uid = int(text_of(reference, "UID"))
        node = self.by_number[uid]
        return Bound(self.location(node), text_of(node, "uniquename"), uid)

    def target(self, reference: Xml) -> tuple[int, str, Xml]:
        """The number, name and node that a reference leads to."""
        uid = int(text_of(reference, "UID"))
        node = self.by_number[uid]
        return uid, text_of(node, "uniquename"), node

    def is_standard(self, node: Xml) -> bool:
        """Whether a definition stands in a standard module."""
        return self.home(node) in STANDARD

    def is_of_bags(self, node: Xml) -> bool:
        """Whether it stands in the standard module of bags and is read by its text, as other modules are."""
        name = text_of(node, "uniquename")
        return self.home(node) == "Bags" and name.rpartition("!")[2] not in _NEVER_READ

    @staticmethod
    def home(node: Xml) -> str:
        """The module in which a definition stands, also when an INSTANCE copied it."""
        body = node.find("body")
        inner = body[0] if body is not None and len(body) else node
        while inner.tag == "SubstInNode":
            inner = child(inner, "body")[0]
        return file_of(inner)


def file_of(node: Xml) -> str:
    """The name of the module in which a node stands."""
    return node.findtext("location/filename") or ""
