"""One singular dbt test per invariant and step: the violated episodes of the verdict mart."""

from __future__ import annotations

from pathlib import PurePosixPath

from sqlglot import exp

from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.emit.origin import generated_from
from tlasql.sql import tree

_MODEL = "fct_invariant_verdicts"
_COLUMNS = (
    "verdict_id",
    "cluster",
    "scope",
    "witness",
    "from_position",
    "from_time",
    "failed_conjunct",
    "values",
)


def dbt_tests(compiled: CompiledModule, target: str) -> dict[str, str]:
    """``<id>.sql`` for each invariant and step, in the folder ``target``; critical ones fail, others warn."""
    folder = PurePosixPath(target)
    judged = [each for each in compiled.definitions if each.mark.kind != "decision"]
    return {str(folder / f"{each.mark.id}.sql"): _test(each) for each in judged}


def _test(each: Compiled) -> str:
    severity = "error" if each.mark.severity == "critical" else "warn"
    wanted = [
        exp.EQ(this=tree.col(column), expression=tree.string(value))
        for column, value in (("invariant", each.mark.id), ("verdict", "violated"))
    ]
    model = exp.Table(this=exp.to_identifier("{{ ref('" + _MODEL + "') }}", quoted=False))
    query = exp.select(*(tree.col(column) for column in _COLUMNS)).from_(model).where(tree.all_of(wanted))
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
