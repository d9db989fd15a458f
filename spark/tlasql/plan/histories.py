r"""Plans a clause over histories: ranges become scans, state expressions become their columns.

``m \in DOMAIN f`` adds nothing to ``p \in f[m]`` and costs no scan of its own; a value is read from a home
that is already scanned for the same key, never by one more join.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tlasql.lang.errors import Location, fail
from tlasql.lang.ir import Bound, Fold, Op, Quantified, tell, text
from tlasql.lang.types import Scalar
from tlasql.mapping.model import History, Home, Mapping, TupleOf, Whole
from tlasql.plan.clauses import Access, Clause, Range, access, leaves
from tlasql.plan.defined import always, defined
from tlasql.plan.exchanges import holds_when_unchanged, interchangeable
from tlasql.plan.frames import Column, HistoryFrame, Leaf, Predicates, Scan, Witness


@dataclass(frozen=True)
class _Atom:
    r"""A range as a relation: the rows of ``home`` whose key (and element) are these variables."""

    name: str
    primed: bool
    home: Home
    variables: tuple[int, ...]
    location: Location

    @property
    def columns(self) -> dict[str, int]:
        names: list[str | None] = list(self.home.key_columns)
        if len(self.variables) > len(names):
            names.append(self.home.column)
        return {str(name): uid for name, uid in zip(names, self.variables, strict=True)}


@dataclass
class _Scans:
    """The scans of one frame and the variables their columns are bound to."""

    scans: list[Scan] = field(default_factory=list)
    columns: list[dict[str, int]] = field(default_factory=list)

    def add(self, table: str, columns: dict[str, int]) -> None:
        if any(scan.table == table and known == columns for scan, known in self.pairs()):
            return
        tail = table.rsplit(".", 1)[-1]
        same = sum(scan.table == table for scan in self.scans)
        self.scans.append(Scan(f"{tail}_{same + 1}" if same else tail, table))
        self.columns.append(columns)

    def pairs(self) -> list[tuple[Scan, dict[str, int]]]:
        return list(zip(self.scans, self.columns, strict=True))

    def find(self, home: Home, variables: tuple[int, ...]) -> Scan | None:
        for scan, columns in self.pairs():
            if scan.table == home.table and all(
                columns.get(name) == uid for name, uid in zip(home.key_columns, variables, strict=True)
            ):
                return scan
        return None


def plan_history(clause: Clause, mapping: Mapping, step: bool, transitive: bool) -> HistoryFrame:
    """The frame of a clause whose ranges run over histories. Raises TlaSqlError."""
    return _Planner(clause, mapping, step, transitive).plan()


class _Planner:
    def __init__(self, clause: Clause, mapping: Mapping, step: bool, transitive: bool) -> None:
        self._clause, self._mapping = clause, mapping
        self._step, self._transitive = step, transitive
        self._names = {each.variable.uid: each.variable.name for each in clause.ranges}
        self._variables = {each.variable.uid: each.variable for each in clause.ranges}
        self._scans = _Scans()

    def plan(self) -> HistoryFrame:
        atoms = _without_implied([self._atom(each) for each in self._clause.ranges])
        if self._step:
            self._check_step(atoms)
        for atom in atoms:
            self._scans.add(atom.home.table, atom.columns)
        found = self._leaves()
        if not atoms:
            self._scans.add(self._only_table(found), {})
        if self._step and len(self._scans.scans) > 1:
            raise fail(
                self._place(),
                "a step over two tables is outside the fragment",
                "mark one step for each table",
            )
        placed = tuple(self._place_leaf(each) for each in found if not isinstance(each.expr, Bound))
        witnesses = self._witnesses()
        predicates = Predicates(self._clause.antecedents, self._clause.conjuncts)
        return HistoryFrame(
            tuple(self._scans.scans),
            self._equalities(),
            tuple((witnesses[a].column, witnesses[b].column) for a, b in self._swaps(atoms)),
            tuple(witnesses.values()),
            self._with_both_states(placed) if self._step else placed,
            replace(predicates, stops=not always(defined(predicates.whole, by_row=True))),
            stepped=self._step,
            keys=tuple(each.column for each in witnesses.values()),
            persistent=self._step and self._transitive and not atoms and self._persists(found),
        )

    def _place(self) -> Location:
        return self._clause.conjuncts[0].location

    def _history(self, name: str, location: Location) -> History:
        mapped = self._mapping.variables.get(name)
        if mapped is None:
            remedy = f"add [variables.{name}] to {self._mapping.file}"
            raise fail(location, f"the variable {name} is mapped to no table", remedy)
        if isinstance(mapped, Whole):
            message = f"{name} is a column of {mapped.table}, whose rows are whole states"
            if self._transitive:
                message += ": a @transitive step is judged by histories alone"
            raise fail(location, message, f"leave out @transitive, or map it: [variables.{name}]")
        if not isinstance(mapped, History):
            raise fail(
                location,
                f"{name} is a set of records: it cannot be read beside histories",
                f"quantify over it first: \\A c \\in {name} : ...",
            )
        homes = [*mapped.homes, *([] if mapped.domain is None else [mapped.domain])]
        if any(isinstance(each, TupleOf) for home in homes for each in home.key):
            raise fail(location, f"an argument of {name} is a tuple, and each part of it a column")
        return mapped

    def _atom(self, each: Range) -> _Atom:
        domain = each.domain
        keys_only = isinstance(domain, Op) and domain.symbol == "DOMAIN"
        inner = access(domain.arguments[0] if isinstance(domain, Op) and keys_only else domain)
        if inner is None:
            remedy = "range over DOMAIN f, a set-valued f[x], or intersections and filters of these"
            raise fail(domain.location, f"a range over {tell(domain)} is outside the fragment", remedy)
        history = self._history(inner.name, domain.location)
        variables = (*self._arguments(inner), each.variable.uid)
        if not keys_only:
            home = history.homes[0]
        elif len(variables) == history.arity:
            home = Home(history.homes[0].table, history.homes[0].key, None)
            home = history.domain if history.domain is not None and history.arity == 1 else home
        elif history.domain is not None and len(variables) == len(history.domain.key):
            home = history.domain
        else:
            # stands only until a range over its elements implies it
            home = Home("", history.homes[0].key[: len(variables)], None)
        return _Atom(inner.name, inner.primed, home, variables, domain.location)

    def _arguments(self, inner: Access) -> tuple[int, ...]:
        for each in inner.arguments:
            if not isinstance(each, Bound):
                remedy = "apply it to quantified variables only"
                raise fail(each.location, f"the argument {tell(each)} is outside the fragment", remedy)
        return tuple(each.uid for each in inner.arguments if isinstance(each, Bound))

    def _check_step(self, atoms: list[_Atom]) -> None:
        now = [(atom.home.table, atom.columns) for atom in atoms if not atom.primed]
        after = [(atom.home.table, atom.columns) for atom in atoms if atom.primed]
        for atom in atoms:
            if (atom.home.table, atom.columns) not in (now if atom.primed else after):
                f = atom.name
                raise fail(
                    atom.location,
                    f"{f} may lack this key in the {'state before' if atom.primed else 'next state'}",
                    f"range over both: \\A x \\in DOMAIN {f} \\cap DOMAIN {f}' : ...",
                )
        if holds_when_unchanged(self._clause):
            return
        if self._transitive:
            raise fail(
                self._place(),
                "a @transitive step must be true when nothing changes",
                "remove @transitive, or add the disjunct x' = x",
            )
        if atoms:
            raise fail(
                self._place(),
                "this step may be false when nothing changes, and here every key steps on its own",
                "allow for it: add the disjunct f'[x] = f[x]",
            )

    def _leaves(self) -> list[Access]:
        found: dict[str, Access] = {}
        for predicate in (*self._clause.antecedents, *self._clause.conjuncts):
            for leaf in leaves(predicate):
                if isinstance(leaf, Quantified):
                    remedy = "put the quantifier in front, or mark its body as an invariant of its own"
                    raise fail(leaf.location, "a quantifier inside a predicate over histories", remedy)
                if isinstance(leaf, Fold):
                    raise fail(leaf.location, "a fold inside a predicate over histories")
                read = Access(leaf.name, False, (), leaf) if isinstance(leaf, Bound) else access(leaf)
                if read is None:
                    raise fail(leaf.location, f"{tell(leaf)} is outside the fragment")
                if read.primed and not self._step:
                    raise fail(leaf.location, f"{tell(leaf)} is primed", "mark it as a @step")
                found.setdefault(text(leaf), read)
        return list(found.values())

    def _only_table(self, found: list[Access]) -> str:
        """The table of a clause without ranges: the complete home of all that it reads."""
        if not found:
            raise fail(self._place(), "this speaks of constants alone", "state it as an ASSUME")
        table = self._history(found[0].name, found[0].expr.location).homes[0].table
        for each in found:
            homes = self._history(each.name, each.expr.location).homes
            if homes[0].table != table:
                message = f"{each.name} lives in {homes[0].table}, {found[0].name} in {table}"
                raise fail(each.expr.location, message, "keep both in one table, or split the definition")
        return table

    def _place_leaf(self, read: Access) -> Leaf:
        history = self._history(read.name, read.expr.location)
        variables = self._arguments(read)
        if not isinstance(read.expr.type, Scalar):
            raise fail(
                read.expr.location, f"{tell(read.expr)} is no single value", "compare the values it holds"
            )
        for home in history.homes:
            scan = self._scans.find(home, variables)
            if scan is not None and home.column is not None:
                return Leaf(text(read.expr), Column(scan.alias, home.column), read.primed)
        scanned = ", ".join(dict.fromkeys(scan.table for scan in self._scans.scans))
        raise fail(
            read.expr.location,
            f"{tell(read.expr)} is not held by {scanned}",
            f"add a home of {read.name} in that table to {self._mapping.file}, or range over its DOMAIN",
        )

    def _with_both_states(self, placed: tuple[Leaf, ...]) -> tuple[Leaf, ...]:
        """Each state expression in both states: a step may also leave all of them as they are."""
        both: dict[str, Leaf] = {}
        for each in placed:
            plain, primed = _unprimed(each.text), _primed(each.text)
            both.setdefault(plain, Leaf(plain, each.column, False))
            both.setdefault(primed, Leaf(primed, each.column, True))
        return tuple(both.values())

    def _persists(self, found: list[Access]) -> bool:
        return all(self._history(each.name, each.expr.location).persistent for each in found)

    def _witnesses(self) -> dict[int, Witness]:
        found = {}
        for uid, name in self._names.items():
            for scan, columns in self._scans.pairs():
                column = next((column for column, bound in columns.items() if bound == uid), None)
                if column is not None:
                    found[uid] = Witness(name, Column(scan.alias, column))
                    break
        return found

    def _equalities(self) -> tuple[tuple[Column, Column], ...]:
        first: dict[int, Column] = {}
        found = []
        for scan, columns in self._scans.pairs():
            for name, uid in columns.items():
                column = Column(scan.alias, name)
                first_column = first.setdefault(uid, column)
                if first_column != column:
                    found.append((first_column, column))
        return tuple(found)

    def _swaps(self, atoms: list[_Atom]) -> list[tuple[int, int]]:
        relations = [(" ".join((a.home.table, *a.columns)), a.variables) for a in atoms]
        return interchangeable(tuple(self._names), relations, self._clause)


def _without_implied(atoms: list[_Atom]) -> list[_Atom]:
    kept = []
    for atom in atoms:
        longer = any(
            other.name == atom.name
            and other.primed == atom.primed
            and len(other.variables) > len(atom.variables)
            and other.variables[: len(atom.variables)] == atom.variables
            for other in atoms
        )
        if longer:
            continue
        if not atom.home.table:
            remedy = "give it a domain = { table = ..., key = ... } in the mapping"
            raise fail(atom.location, f"no table holds the keys of {atom.name} alone", remedy)
        kept.append(atom)
    return kept


def _primed(label: str) -> str:
    name, bracket, rest = label.partition("[")
    return f"{name.removesuffix(chr(39))}'{bracket}{rest}"


def _unprimed(label: str) -> str:
    name, bracket, rest = label.partition("[")
    return f"{name.removesuffix(chr(39))}{bracket}{rest}"
