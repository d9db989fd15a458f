"""Mistakes in the configuration. Each is a line that names the key and says what to write."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, get_args

from pydantic_core import ErrorDetails, PydanticCustomError

_OF_KEY = "[key]"


class SettingsError(Exception):
    """The configuration cannot be used; the message names the mistakes and says what to do."""


@dataclass(frozen=True)
class Expected:
    """The words of errors about a key: what it ``must_be``, and what to ``add`` if it is missing."""

    must_be: str
    add: str | None = None


TABLES = Expected("an array of tables")


def mistake(message: str, below: str = "", lacks: str = "") -> PydanticCustomError:
    """A mistake in a value; ``below``: the rest of its key, for a validator that checks several keys at
    once; ``lacks``: the key beside it that is not there.
    """
    return PydanticCustomError("mistake", "{message}", {"message": message, "below": below, "lacks": lacks})


def in_words(errors: Sequence[ErrorDetails], document: Mapping[str, Any], model: Any) -> list[str]:
    """A line for each mistake in a document: the key, what is wrong with it, and what to write.

    A misspelt key is one mistake: that the key which was meant is not there is left out.
    """
    meant = {
        (*error["loc"][:-1], near)
        for error in errors
        if error["type"] in _UNKNOWN
        and (near := _near(str(error["loc"][-1]), _declared(error["loc"], model)[1]))
        and reduce(_inside, (*error["loc"][:-1], near), document) is None
    }
    return [_line(error, document, model) for error in errors if _lacking(error) not in meant]


def _lacking(error: ErrorDetails) -> tuple[int | str, ...]:
    """The key that would have to be there."""
    lacks = error.get("ctx", {}).get("lacks")
    return (*error["loc"][:-1], lacks) if lacks else error["loc"]


_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")


def _line(error: ErrorDetails, document: Mapping[str, Any], model: Any) -> str:
    loc = error["loc"]
    below = error.get("ctx", {}).get("below")
    if loc and (isinstance(loc[-1], int) or loc[-1] == _OF_KEY):
        # an element is named by its list, and pydantic's mark of a mistake in a key is no part of it
        loc = loc[:-1]
    where = _dotted((*loc, below) if below else loc)
    # an address may have a secret, also where it is in the wrong place
    found = reduce(_inside, loc, document)
    value = "what is there" if loc[:1] == ("alerts",) else shown(found)
    expected, keys = _declared(loc, model)
    match error["type"]:
        case "mistake":
            return f"{where}: {error['msg']}"
        case "missing":
            return f"{where}: is missing. Add {(expected.add or expected.must_be) if expected else 'it'}."
        case kind if kind in _UNKNOWN:
            known = f"Use one of {', '.join(sorted(keys))}, or remove it."
            return f"{where}: is not known here. {known}{nearest(str(loc[-1]), keys)}"
        case "dict_type" | "model_type" | "dataclass_type" if loc == error["loc"]:
            return f"{where}: must be a table, not {value}.{_in_brackets(loc, found)}"
        case _:
            must_be = expected.must_be if expected else "something else"
            said = f"{where}: must be {must_be}, not {value}."
            return f"{said}{_in_brackets(loc, found)}" if must_be == TABLES.must_be else said


def _in_brackets(loc: Iterable[int | str], found: Any) -> str:
    """A sentence with the header that makes a table an array of tables, and the reverse."""
    header = ".".join(key for key in loc if isinstance(key, str))
    if isinstance(found, dict):
        return f" Write [[{header}]] in its place."
    return f" Write [{header}] in its place." if _is_tables(found) else ""


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, dict) for each in value)


def shown(value: Any) -> str:
    """A value as a person wrote it; tables may be long, and are only called so."""
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dict):
        return "a table"
    if _is_tables(value):
        return "an array of tables"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def nearest(name: str, names: Iterable[str]) -> str:
    """A sentence that names the nearest of ``names``, with a space before it; nothing if none is near."""
    near = _near(name, names)
    return f" The nearest is {near}." if near else ""


def _near(name: str, names: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(names), n=1)), None)


def _dotted(loc: Iterable[int | str]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in loc).removeprefix(".")


def _inside(value: Any, key: int | str) -> Any:
    try:
        return value[key]
    except (KeyError, IndexError, TypeError):
        return None


def _declared(loc: Sequence[int | str], model: Any) -> tuple[Expected | None, list[str]]:
    """The expectation for the key at ``loc``, and all keys that are allowed in its table."""
    expected, keys = None, []
    for key in loc:
        fields = getattr(model, "model_fields", None) or getattr(model, "__pydantic_fields__", None)
        if isinstance(key, int) or fields is None:
            continue
        by_key = {each.alias or name: each for name, each in fields.items()}
        keys = list(by_key)
        declared_field = by_key.get(key)
        expected = (
            next((each for each in declared_field.metadata if isinstance(each, Expected)), None)
            if declared_field
            else None
        )
        model = _model(declared_field.annotation) if declared_field else None
    return expected, keys


def _model(kind: Any) -> Any:
    """The model of a field, or of the elements of its list; None without a model."""
    element = next((each for each in get_args(kind) if each is not Ellipsis), kind)
    return element if hasattr(element, "__pydantic_fields__") else None
