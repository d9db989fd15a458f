"""Has TLC judge a violated verdict again, on the states in the lake that the verdict is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.definitions import definition
from fencepost.places import project_folder
from fencepost.protocols import tables
from fencepost.reading import Reader, rows
from tlasql import compile_module
from tlasql.replay.confirm import confirm
from tlasql.replay.trace import TooLargeError
from tlasql.replay.window import window
from tlasql.sql.duckdb import DUCKDB


def confirmation(reader: Reader, verdict: Mapping[str, Any]) -> str:
    """What TLC says of a violated row of the verdict mart, in one sentence, or its words if it disagrees.

    The specification is read from the project's ``spec`` folder. Raises TlaSqlError when it cannot be
    compiled, TlcError when TLC cannot be run, PlaceError when there is no such folder.
    """
    if verdict["verdict"] != "violated":
        return f"Nothing to confirm: the verdict is {verdict['verdict']}."
    found = definition(verdict["invariant"])
    assert found is not None, verdict["invariant"]
    module = project_folder("spec").parent / found.file
    schemas = {table.name: table.columns for table in tables()}
    compiled = compile_module(module, module.with_name("mapping.toml"), schemas)
    marked = next(each for each in compiled.definitions if each.mark.id == found.id)

    def run(sql: str) -> list[Mapping[str, Any]]:
        return list(rows(reader.query_duckdb(sql)))

    around = window(compiled, marked, verdict, run, DUCKDB)
    if not around.states:
        return "TLC was not asked: the states it is about are not in the lake."
    try:
        answer = confirm(compiled, marked, around.states)
    except TooLargeError as error:
        return f"TLC was not asked: {error}."
    if answer.confirmed:
        return f"TLC confirms it: {found.name} is violated by the same states."
    disagrees = "TLC DISAGREES, which is a fault in Fencepost. What it was given:"
    return f"{disagrees}\n{answer.module}\n{answer.output}"
