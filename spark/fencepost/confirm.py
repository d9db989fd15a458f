"""A violated verdict, judged again by TLC on the states of the lake it is about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Row, SparkSession

from fencepost import lake
from fencepost.judge.compiled import definition
from fencepost.places import project_folder
from tlasql import compile_module
from tlasql.dialect import SPARK
from tlasql.replay import confirm
from tlasql.trace import TooLargeError
from tlasql.window import window


def confirmation(spark: SparkSession, verdict: Row) -> str:
    """What TLC says of a violated row of the verdict mart, in one sentence, or its words if it disagrees.

    The specification is read from the project's ``spec`` folder. Raises TlaSqlError when it cannot be
    compiled, TlcError when TLC cannot be run, PlaceError when there is no such folder.
    """
    if verdict["verdict"] != "violated":
        return f"Nothing to confirm: the verdict is {verdict['verdict']}."
    found = definition(verdict["invariant"])
    assert found is not None, verdict["invariant"]
    module = project_folder("spec").parent / found.file
    compiled = compile_module(module, module.with_name("mapping.toml"), json.loads(lake.schemas_json()))
    marked = next(each for each in compiled.definitions if each.mark.id == found.id)

    def rows(sql: str) -> list[Mapping[str, Any]]:
        return [row.asDict(recursive=True) for row in spark.sql(sql).collect()]

    around = window(compiled, marked, verdict.asDict(), rows, SPARK)
    if not around.states:
        return "TLC was not asked: the states it is about are not in the lake."
    try:
        said = confirm(compiled, marked, around.states)
    except TooLargeError as error:
        return f"TLC was not asked: {error}."
    if said.confirmed:
        return f"TLC confirms it: {found.name} is violated by the same states."
    return f"TLC DISAGREES, which is a fault in Fencepost. What it was given:\n{said.module}\n{said.output}"
