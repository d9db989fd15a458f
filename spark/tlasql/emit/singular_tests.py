"""One singular dbt test per invariant and step: its violations, in the model that keeps verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from sqlglot import exp

from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.emit.origin import generated_from
from tlasql.lang.errors import fail
from tlasql.sql import tree

_SHOWN = ("scope", "witness", "from_position", "from_time", "failed_conjunct", "observed")


def dbt_tests(compiled: CompiledModule, target: str) -> dict[str, str]:
    """``<id>.sql`` for each invariant and step, in the folder ``target``; critical ones fail, others warn.

    Raises TlaSqlError where the mapping does not say which model keeps verdicts.
    """
    kept, scope = compiled.mapping.kept, compiled.mapping.scope
    if kept.table is None:
        where = compiled.mapping.source.place("outputs", "dbt_tests")
        remedy = 'add [verdicts] table = "<schema>.<model>"'
        raise fail(where, "dbt tests of what? The mapping names no table that keeps verdicts", remedy)
    model = kept.table.rpartition(".")[2]
    columns = [*([kept.id] if kept.id else []), scope[0], *_SHOWN]
    folder = PurePosixPath(target)
    judged = [each for each in compiled.definitions if each.mark.kind != "decision"]
    return {str(folder / f"{each.mark.id}.sql"): _test(each, model, columns) for each in judged}


def _test(each: Compiled, model_name: str, columns: Sequence[str]) -> str:
    severity = "error" if each.mark.severity == "critical" else "warn"
    wanted = [
        exp.EQ(this=tree.col(column), expression=tree.string(value))
        for column, value in (("invariant", each.mark.id), ("verdict", "violated"))
    ]
    model = exp.Table(this=exp.to_identifier("{{ ref('" + model_name + "') }}", quoted=False))
    query = exp.select(*(tree.col(column) for column in columns)).from_(model).where(tree.all_of(wanted))
    # dbt's linter wants lower-case keywords
    text = query.sql(dialect=tree.DIALECT, pretty=True, normalize_functions="lower")
    head = [
        f"-- {generated_from(each)}",
        "{{ config(severity='" + severity + "', tags=['generated', '" + each.mark.kind + "']) }}",
    ]
    return "\n".join([*head, "", _lower_keywords(text), ""])


def _lower_keywords(text: str) -> str:
    keywords = {"SELECT", "FROM", "WHERE", "AND"}
    return "\n".join(
        " ".join(word.lower() if word in keywords else word for word in line.split(" "))
        for line in text.split("\n")
    )
