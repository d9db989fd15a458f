"""Unaligned loads, stores and copies inside kernels, as one machine instruction or memcpy each.

numba's own indexing looks for negative indices at every byte. The caller has checked the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Longs = NDArray[np.int64]

_I64 = ir.IntType(64)


def _as_integer(builder: Any, address: Any, bits: int) -> Any:
    """The address as that of an integer of ``bits`` bits."""
    return builder.bitcast(address, ir.IntType(bits).as_pointer())


def _address(context: Any, builder: Any, kind: Any, vector: Any, index: Any) -> Any:
    """The address of an element of a contiguous vector."""
    data = builder.extract_value(vector, context.data_model_manager[kind].get_field_position("data"))
    return builder.gep(data, [index])


def _loader(bits: int, signed: bool) -> Any:
    def typed(typing_context: Any, array: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = _address(context, builder, signature.args[0], args[0], args[1])
            value = builder.load(_as_integer(builder, address, bits), align=1)
            if bits > 8:
                value = builder.bswap(value)
            if bits == 64:
                return value
            return builder.sext(value, _I64) if signed else builder.zext(value, _I64)

        return types.int64(array, types.int64), generate

    return intrinsic(typed)


def _storer(bits: int) -> Any:
    def typed(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = _address(context, builder, signature.args[0], args[0], args[1])
            value = args[2] if bits == 64 else builder.trunc(args[2], ir.IntType(bits))
            builder.store(value, _as_integer(builder, address, bits), align=1)
            return context.get_dummy_value()

        return types.none(array, types.int64, types.int64), generate

    return intrinsic(typed)


def _getter() -> Any:
    def typed(typing_context: Any, vector: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load(_address(context, builder, signature.args[0], args[0], args[1]))

        return types.int64(vector, types.int64), generate

    return intrinsic(typed)


def _putter() -> Any:
    def typed(typing_context: Any, vector: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.store(args[2], _address(context, builder, signature.args[0], args[0], args[1]))
            return context.get_dummy_value()

        return types.none(vector, types.int64, types.int64), generate

    return intrinsic(typed)


def _copier() -> Any:
    def typed(  # noqa: PLR0917 (numba's convention)
        typing_context: Any, target: Any, at: Any, source: Any, first: Any, size: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            into = _address(context, builder, signature.args[0], args[0], args[1])
            start = _address(context, builder, signature.args[2], args[2], args[3])
            cgutils.raw_memcpy(builder, into, start, args[4], 1)
            return context.get_dummy_value()

        return types.none(target, types.int64, source, types.int64, types.int64), generate

    return intrinsic(typed)


def _addresser() -> Any:
    def typed(typing_context: Any, vector: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ptrtoint(_address(context, builder, signature.args[0], args[0], args[1]), _I64)

        return types.uintp(vector, types.int64), generate

    return intrinsic(typed)


Load = Callable[[Bytes, int], int]
Store = Callable[[Bytes, int, int], None]

byte: Load = cast(Load, _loader(8, False))
"""The unsigned byte at an index."""
int8: Load = cast(Load, _loader(8, True))
"""A signed byte, as the wider ones below."""
int16: Load = cast(Load, _loader(16, True))
"""A big-endian signed integer, as Kafka writes them."""
int32: Load = cast(Load, _loader(32, True))
int64: Load = cast(Load, _loader(64, True))

store8: Store = cast(Store, _storer(8))
"""Write the low bits of an integer, little-endian, as Arrow keeps them."""
store16: Store = cast(Store, _storer(16))
store32: Store = cast(Store, _storer(32))
store64: Store = cast(Store, _storer(64))

copy: Callable[[Bytes, int, Bytes, int, int], None] = cast(Any, _copier())
"""``copy(target, at, source, first, size)``."""

get: Callable[[Longs, int], int] = cast(Any, _getter())
"""An element of a contiguous vector."""
put: Callable[[Longs, int, int], None] = cast(Any, _putter())

address: Callable[[Bytes, int], int] = cast(Any, _addresser())
"""Where an element lies in memory, for a function of C."""
