r"""Whether a step is possible in a state, as a formula of that state: ``ENABLED A`` without primes.

A next state is sought for each variable by itself, so no two parts of a conjunction may speak of the same
one: ``x > 0 /\ x' = x - 1 /\ y' \in S`` is possible where ``x > 0 /\ S # {}``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tlasql.lang.errors import Location, TlaSqlError
from tlasql.lang.ir import Bound, Expr, Literal, Op, Prime, Quantified, Variable, walk
from tlasql.read.bodies import outside

_GUARD = "write its guard as a predicate, and say that of the state"
_CONNECTIVES = {"/\\", "\\/", "AND", "OR"}


def enabled(  # noqa: PLR0911 (one for each form)
    action: Expr, fresh: Callable[[Location], Bound]
) -> Expr:
    """``ENABLED`` of an action that applies no operator of the module.

    ``fresh`` gives a variable to quantify. Raises TlaSqlError where that needs the next state of all
    variables together.
    """
    if not _primed(action):
        return action
    match action:
        case Op(symbol=symbol, arguments=parts) if symbol in _CONNECTIVES:
            if symbol in ("/\\", "AND"):
                _check_apart(parts)
            return replace(action, arguments=tuple(enabled(each, fresh) for each in parts))
        case Op(symbol="IF" | "CASE", arguments=parts):
            return replace(action, arguments=_chosen(parts, fresh))
        case Quantified(kind="\\E", domain=domain, body=body) if not _primed(domain):
            return replace(action, body=enabled(body, fresh))
        case Op(symbol="=", arguments=(Prime(argument=Variable() as variable), value)) if not _primed(value):
            return _has_value(variable, value)
        case Op(symbol="=", arguments=(Prime(argument=base), same)) if base == same and _of_variables(base):
            return Literal(action.location, True)
        case Op(symbol="\\in", arguments=(Prime(argument=Variable()), domain)) if not _primed(domain):
            some = fresh(action.location)
            return Quantified(action.location, "\\E", some, domain, Literal(action.location, True))
    raise _unknown(action)


def _chosen(parts: tuple[Expr, ...], fresh: Callable[[Location], Bound]) -> tuple[Expr, ...]:
    found = list(parts)
    for n in range(len(parts)):
        if n % 2 == 0 and n + 1 < len(parts):  # a test
            if _primed(parts[n]):
                raise _unknown(parts[n])
        else:
            found[n] = enabled(parts[n], fresh)
    return tuple(found)


def _has_value(variable: Variable, value: Expr) -> Expr:
    """True; TLC stops where the value has none. The variable is there for the type of ``{}`` and the like."""
    if isinstance(value, Variable | Literal | Bound):
        return Literal(value.location, True)
    typed = Op(value.location, "IF", (Literal(value.location, True), value, variable))
    return Op(value.location, "Evaluated", (typed,))


def _check_apart(parts: tuple[Expr, ...]) -> None:
    seen: set[str] = set()
    for each in parts:
        names = _primed(each)
        if names & seen:
            raise _unknown(each)
        seen |= names


def _primed(expr: Expr) -> set[str]:
    """The variables of which it names the next value."""
    primes = (each.argument for each in walk(expr) if isinstance(each, Prime))
    return {each.name for base in primes for each in walk(base) if isinstance(each, Variable)}


def _of_variables(base: Expr) -> bool:
    match base:
        case Variable():
            return True
        case Op(symbol="<<>>", arguments=parts):
            return all(map(_of_variables, parts))
    return False


def _unknown(part: Expr) -> TlaSqlError:
    what = "ENABLED of an action that does not say once for each variable x' = ..., x' \\in S or UNCHANGED x"
    return outside(part.location, what, _GUARD)
