"""The rows of a result: the columns of a verdict, and a row for each of several definitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dict
from dataclasses import dataclass

from sqlglot import exp

from tlasql.mapping.model import INTERVAL, VERDICT, Mapping
from tlasql.sql import tree
from tlasql.sql.dialect import Dialect

_TYPES = dict(zip(INTERVAL, ("bigint", "bigint", "timestamp", "timestamp"), strict=True))
_TYPES |= {"verdict": "boolean", "exercised": "boolean"}
"""Of the columns of a verdict that are no text."""

Ctes = list[tuple[str, exp.Query]]


@dataclass(frozen=True)
class Query:
    """Common table expressions, in order, and the SELECT over them."""

    ctes: tuple[tuple[str, exp.Query], ...]
    select: exp.Query


class Names:
    """Gives each TLA+ text a column name of its own: the text itself unless that is taken (case ignored)."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {each.lower() for each in taken}
        self.columns: dict[str, str] = {}

    def add(self, label: str, wanted: str | None = None) -> str:
        """The column for ``label``, called ``wanted`` or the label itself."""
        if label not in self.columns:
            found = wanted or label
            while found.lower() in self._taken:
                found += "_"
            self._taken.add(found.lower())
            self.columns[label] = found
        return self.columns[label]


def verdict_row(
    mapping: Mapping,
    *,
    interval: Sequence[exp.Expr],
    exercised: exp.Expr,
    scope: Sequence[exp.Expr] | None = None,
    witness: exp.Expr | None = None,
    verdict: exp.Expr | None = None,
    failed: exp.Expr | None = None,
    reason: exp.Expr | None = None,
    observed: exp.Expr | None = None,
    evidence: exp.Expr | None = None,
) -> list[exp.Expr]:
    """The output columns in their order; what is not given is null. ``reason``: of an unknown verdict."""
    scoped = list(scope) if scope is not None else [tree.col(each) for each in mapping.scope]
    given = {
        "scope": tree.json_object(scoped[1:]),
        "witness": witness,
        **dict(zip(INTERVAL, interval, strict=True)),
        "verdict": verdict,
        "exercised": exercised,
        "failed_conjunct": failed,
        "reason": reason,
        "observed": observed,
        "evidence": evidence,
    }
    columns = (given[each] or tree.null(_TYPES.get(each, "string")) for each in VERDICT)
    named = [tree.alias(column, each) for column, each in zip(columns, VERDICT, strict=True)]
    return [tree.alias(scoped[0], mapping.scope[0]), *named]


def unless_held(row: Sequence[exp.Expr]) -> list[exp.Expr]:
    """``row`` without its witness and evidence where it holds."""
    verdict = next(_bare(each) for each in row if each.alias_or_name == "verdict")

    def shown(column: exp.Expr) -> exp.Expr:
        failed = tree.negation(tree.surely(verdict.copy()))
        return tree.alias(tree.case([(failed, _bare(column))]), column.alias_or_name)

    return [shown(each) if each.alias_or_name in ("witness", "evidence") else each for each in row]


def fanned(
    rows: Dict[str, Sequence[exp.Expr]],
    source: exp.Select,
    dialect: Dialect,
    applies: Dict[str, exp.Expr] | None = None,
) -> exp.Select:
    """A row for each definition out of one row of ``source``: its id as ``definition``, then its columns.

    ``rows``: id -> columns, alike in number and names; what is the same for all is computed once.
    ``applies``: where a definition has a row at all.
    """
    first, *others = rows.values()
    shared = [column for column in first if all(column in row for row in others)]
    structs = []
    for identity, row in rows.items():
        own = [("definition", tree.string(identity))]
        own += [(each.alias_or_name, _bare(each)) for each in row if each not in shared]
        struct = dialect.struct(own)
        structs.append(
            tree.case([(applies[identity], struct)]) if applies and identity in applies else struct
        )
    # in a query of its own, since the columns beside the rows would be computed for each of them
    inner = source.select(*shared, tree.alias(exp.Array(expressions=structs), "rows_"), append=True)
    kept = [each.alias_or_name for each in shared]
    fan = tree.alias(dialect.rows(tree.col("rows_")), "each")
    fanned_out = exp.select(*map(tree.col, kept), fan).from_(inner.subquery("judged_together"))
    columns = [
        tree.col(name) if name in kept else tree.alias(dialect.field(tree.col("each"), name), name)
        for name in (each.alias_or_name for each in first)
    ]
    whose = tree.alias(dialect.field(tree.col("each"), "definition"), "definition")
    found = exp.select(whose, *columns).from_(fanned_out.subquery("fanned"))
    return found.where(tree.is_known(tree.col("each"))) if applies else found


def _bare(column: exp.Expr) -> exp.Expr:
    return column.this if isinstance(column, exp.Alias) else column
