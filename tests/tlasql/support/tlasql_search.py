"""Search for a disagreement: ``python tests/tlasql/support/tlasql_search.py --seconds 3600 --seed 1``.

Random modules of :mod:`tlasql_shapes`, each judged on random states by TLC on its text and by DuckDB (every
so often by Spark too). What differs is printed whole, with its module, states and seed, and ends the search
with 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
from tlasql_judge import HOLDS, STOPS, VIOLATED, Judge
from tlasql_shapes import CONSTANTS, DOMAIN, MODELS, TYPES, Definition, Shapes, write
from tlasql_states import Said, State, duck, on_duckdb, on_spark, written

from tlasql import CompiledModule, TlaSqlError, compile_module

DEFINITIONS, FOLDS, STATES = 30, 6, 60
SHORT = 12_000
"""Characters of SQL: over the longest Spark takes minutes, and but for names they are DuckDB's."""
_KNOWN = {HOLDS: True, VIOLATED: False, STOPS: None}
_FOR_FEW_ROWS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Each module has other queries: to compile code for them would take longer than everything else."""


@dataclass
class Round:
    """One module: what compiled of it, what everybody said, and where they differ."""

    seed: int
    source: str = ""
    states: Sequence[State] = ()
    refused: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def compiled_of(
    folder: Path, operators: Mapping[str, str], definitions: list[Definition], refused: Counter[str]
) -> tuple[CompiledModule | None, list[Definition]]:
    """The module with those of the definitions that compile."""
    left = definitions
    while left:
        path = write(folder, operators, left)
        try:
            return compile_module(path, folder / "mapping.toml", DOMAIN.schemas(), dialect="duckdb"), left
        except TlaSqlError as error:
            lines = path.read_text(encoding="utf-8").splitlines()
            named = {_owner(lines, each.location.line) for each in error.diagnostics}
            refused.update(each.message.split(": ")[-1][:60] for each in error.diagnostics)
            bad = [each for each in left if f"D_{each.identity}" in named]
            if not bad:  # in an operator: whoever uses it
                names = {name for name in named if name in operators}
                bad = [each for each in left if any(name in each.text for name in names)]
            if not bad:
                raise
            left = [each for each in left if each not in bad]
    return None, []


def _owner(lines: list[str], number: int) -> str:
    """The definition that a line of the module belongs to."""
    for line in reversed(lines[:number]):
        head = line.split(" == ")[0].split("(")[0].strip()
        if " == " in line and head.isidentifier():
            return head
    return ""


def judged(seed: int, spark: object = None) -> Round:
    """One module and its states, compared."""
    chance = random.Random(seed)
    shapes = Shapes(chance)
    found = Round(seed)
    with tempfile.TemporaryDirectory(prefix="search-") as scratch:
        applied = shapes.folds(FOLDS)
        _, left = compiled_of(Path(scratch), shapes.operators, applied, found.refused)
        shapes.without([f"Fold{n}" for n, each in enumerate(applied) if each not in left])
    definitions = shapes.definitions(DEFINITIONS)
    states = [DOMAIN.state(chance)]
    while len(states) < STATES:
        whole = DOMAIN.state(chance)
        kept = {name: value for name, value in states[-1].items() if chance.random() < 0.5}
        states.append({**whole, **kept})
    with tempfile.TemporaryDirectory(prefix="search-") as scratch:
        folder = Path(scratch)
        found.states = states
        module, left = compiled_of(folder, shapes.operators, definitions, found.refused)
        if module is None:
            return found
        path = write(folder, shapes.operators, left)
        found.source = path.read_text(encoding="utf-8")
        claims = {each.identity: each.claim(shapes.operators) for each in left}
        texts = [{n: written(s[n], DOMAIN.types[n], MODELS) for n in TYPES} for s in states]
        by_tlc = Judge(path, CONSTANTS, MODELS).said(list(claims.values()), texts)
        oracle = {
            (identity, n): _KNOWN[by_tlc[claim.name, n]]
            for identity, claim in claims.items()
            for n in range(1 if claim.variables else 0, STATES)
        }
        try:
            said = on_duckdb(duck(DOMAIN, states), module.definitions, STATES)
        except duckdb.Error as error:
            found.wrong.append(f"DuckDB: {error}")
            return found
        _compare(found, "DuckDB", said, oracle, {each.identity: each for each in left})
        if spark is not None:
            again = compile_module(path, folder / "mapping.toml", DOMAIN.schemas())
            short = tuple(each for each in again.definitions if len(each.sql) < SHORT)
            said = on_spark(spark, DOMAIN, states, replace(again, definitions=short))  # type: ignore[arg-type]
            asked = {key: verdict for key, verdict in oracle.items() if key in said}
            _compare(found, "Spark", said, asked, {each.identity: each for each in left})
    return found


def _compare(found: Round, engine: str, said: Said, oracle: Said, texts: Mapping[str, Definition]) -> None:
    for key, verdict in oracle.items():
        sql = said[key]
        found.counts["compared"] += 1
        found.counts["TLC stops"] += verdict is None
        found.counts["unknown though TLC knows"] += sql is None and verdict is not None
        if sql is not None and sql is not verdict:
            each = texts[key[0]]
            when = f" when {each.guard}" if each.guard else ""
            found.wrong.append(
                f"{each.kind} {each.identity}{when} at {key[1]}: {engine} {sql}, TLC {verdict}: {each.text}"
            )


def main() -> int:
    """0: no disagreement in the time given."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spark-every", type=int, default=0, help="also on Spark, every so many modules")
    parser.add_argument(
        "--keep-going", action="store_true", help="list every disagreement instead of the first"
    )
    options = parser.parse_args()
    begun, seed, total, refused, bad = time.monotonic(), options.seed, Counter[str](), Counter[str](), 0
    spark = _spark() if options.spark_every else None
    while time.monotonic() - begun < options.seconds:
        engine = spark if options.spark_every and seed % options.spark_every == 0 else None
        each = judged(seed, engine)
        total.update(each.counts)
        refused.update(each.refused)
        if each.wrong:
            bad += 1
            _say(f"seed {seed}: {len(each.wrong)} disagreements")
            _say("\n".join(each.wrong[:12]))
            if not options.keep_going:
                _say(each.source)
                _say("\n".join(str(dict(state)) for state in each.states))
                return 1
        seed += 1
        if (seed - options.seed) % 20 == 0:
            _say(f"{time.monotonic() - begun:7.0f} s, {seed - options.seed} modules, {dict(total)}")
    _say(f"seeds {options.seed} to {seed - 1}: {dict(total)}")
    _say(f"refused: {refused.most_common(20)}")
    return int(bool(bad))


def _spark() -> object:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config(map=_FOR_FEW_ROWS)
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
