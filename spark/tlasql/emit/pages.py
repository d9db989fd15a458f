"""One page per marked definition, for the person on call: meaning, limits, what to do, where to look."""

from __future__ import annotations

from pathlib import PurePosixPath

from sqlglot import exp

from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.emit.origin import file_of, generated_from, source_of
from tlasql.mapping.model import Kept
from tlasql.sql import tree

_HEADINGS = {
    "Where it does not hold:": "Where it does not hold",
    "On call:": "On call",
}
_KINDS = {
    "invariant": "Checked in every observable state.",
    "step": "Checked from every observable state to the next; a step may change nothing it speaks of.",
    "decision": "Evaluated for every request; compared with the answer the broker gave.",
}


def pages(compiled: CompiledModule, target: str) -> dict[str, str]:
    """``<id>.md`` for each definition, in the folder ``target``."""
    folder = PurePosixPath(target)
    return {
        str(folder / f"{each.mark.id}.md"): _page(each, compiled, folder) for each in compiled.definitions
    }


def _page(each: Compiled, compiled: CompiledModule, folder: PurePosixPath) -> str:
    mark = each.mark
    parts = [
        f"<!-- {generated_from(each)} -->",
        f"# {mark.id}",
        _facts(each),
        f"A violation: {mark.violated}." if mark.violated else "",
        *_prose(mark.prose),
        "## The rule",
        f"```tla\n{each.formula}\n```",
        _KINDS[mark.kind] + _transitive(each),
        *_look(each, compiled.mapping.kept),
        _links(each, compiled, folder),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(each: Compiled) -> str:
    mark = each.mark
    facts = [f"`{each.definition.name}`, {_article(mark.kind)}"]
    if mark.severity is not None:
        facts.append(f"severity {mark.severity}")
        facts.append(f"one verdict per {mark.grain}")
    if mark.when is not None:
        facts.append(f"where `{mark.when}`")
    return ", ".join(facts) + "."


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _prose(paragraphs: tuple[str, ...]) -> list[str]:
    found = []
    for paragraph in paragraphs:
        opening = next((each for each in _HEADINGS if paragraph.startswith(each)), None)
        if opening is not None:
            rest = paragraph.removeprefix(opening).strip()
            found += [f"## {_HEADINGS[opening]}", rest[:1].upper() + rest[1:]]
        else:
            found.append(paragraph)
    return found


def _transitive(each: Compiled) -> str:
    if not each.mark.transitive:
        return ""
    if any(getattr(frame, "persistent", False) for frame in each.frames):
        return " Across a gap in the evidence it can be found violated, never to hold."
    return " Across a gap in the evidence it is unknown: what it speaks of may have started anew unseen."


def _look(each: Compiled, kept: Kept) -> list[str]:
    mark = each.mark
    if mark.kind == "decision":
        conditions = {"decision": mark.id}
        table = kept.decisions
    else:
        conditions = {"invariant": mark.id, "verdict": "violated"}
        table = kept.table
    if table is None:
        return []
    where = tree.all_of(
        exp.EQ(this=tree.col(column), expression=tree.string(value)) for column, value in conditions.items()
    )
    query = exp.select("*").from_(tree.table(table)).where(where).sql(dialect=tree.DIALECT)
    return ["## Where to look", f"```sql\n{query}\n```"]


def _links(each: Compiled, compiled: CompiledModule, folder: PurePosixPath) -> str:
    up = "/".join([".."] * len(folder.parts))
    links = [f"Specification: [{source_of(each)}]({up}/{file_of(each)})"]
    for kind, label in (("sql", "Compiled SQL"), ("dbt_tests", "dbt test")):
        target = compiled.mapping.outputs.get(kind)
        if target is not None and not (kind == "dbt_tests" and each.mark.kind == "decision"):
            path = PurePosixPath(target) / f"{each.mark.id}.sql"
            links.append(f"{label}: [{path}]({up}/{path})")
    return "\n".join(f"- {each}" for each in links)
