"""Numbers shared between threads: loads that acquire, stores that release, in compiled code and in plain Python.

What a thread wrote before it released a number is seen by whoever acquires that number. For `int64` and `float64`
arrays of one dimension; the place must lie inside the array, it is not checked.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

NUMBERS = (types.int64, types.float64)
ALIGNED = 8  # bytes


def load_acquire(array: Any, i: int) -> Any:
    """`array[i]`; nothing that follows is done before."""
    return array[i]


def store_release(array: Any, i: int, value: Any) -> None:
    """`array[i] = value`; everything before is done first."""
    array[i] = value


def _pointer(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    kind, place = signature.args[:2]
    array = context.make_array(kind)(context, builder, values[0])
    index = context.cast(builder, values[1], place, types.intp)
    return cgutils.get_item_pointer(context, builder, kind, array, [index], wraparound=False, boundscheck=False)


@intrinsic
def _load(typing_context, array, i):
    def generate(context, builder, signature, values):
        return builder.load_atomic(_pointer(context, builder, signature, values), "acquire", ALIGNED)

    return array.dtype(array, i), generate


@intrinsic
def _store(typing_context, array, i, value):
    def generate(context, builder, signature, values):
        number = context.cast(builder, values[2], signature.args[2], array.dtype)
        builder.store_atomic(number, _pointer(context, builder, signature, values), "release", ALIGNED)
        return context.get_dummy_value()

    return types.void(array, i, value), generate


def _check(array: Any) -> None:
    if not (isinstance(array, types.Array) and array.ndim == 1 and array.dtype in NUMBERS and array.aligned):
        raise TypingError(f"atomic loads and stores need an int64 or float64 array of one dimension, not {array}")


@overload(load_acquire)
def _load_acquire(array, i):
    _check(array)
    return lambda array, i: _load(array, i)  # pyright: ignore[reportCallIssue]


@overload(store_release)
def _store_release(array, i, value):
    _check(array)
    return lambda array, i, value: _store(array, i, value)  # pyright: ignore[reportCallIssue]
