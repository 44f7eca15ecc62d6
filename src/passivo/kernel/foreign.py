"""Calling C by address and looking at its memory, from machine code; `foreign_plain.py`: the same in plain Python."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def call_two(typing, function, first, second):
    """Call the C function `void f(void*, void*)` at an address."""

    def generate(context, builder, signature, arguments):
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer])
        address, *given = arguments
        called = builder.inttoptr(address, kind.as_pointer())
        builder.call(called, [builder.inttoptr(each, pointer) for each in given])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def call_pair(typing, function, model, data, found, first, second, margin):
    """Call `int f(void*, void*, void*, int, int, double)` at an address."""

    def generate(context, builder, signature, arguments):
        pointer, whole = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(whole, [pointer] * 3 + [whole] * 2 + [ir.DoubleType()])
        address, *given, one, other, size = arguments
        called = builder.inttoptr(address, kind.as_pointer())
        places = [builder.inttoptr(each, pointer) for each in given]
        answer = builder.call(called, [*places, builder.trunc(one, whole), builder.trunc(other, whole), size])
        return builder.sext(answer, ir.IntType(64))

    return types.int64(*[types.int64] * 6, types.float64), generate


def _looked_at(number):
    @intrinsic
    def pointer_to(typing, address):
        target = types.CPointer(number)

        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(target))

        return target(types.int64), generate

    return pointer_to


doubles_at = _looked_at(types.float64)
integers_at = _looked_at(types.int32)


@intrinsic
def after(typing, table, count):
    """A table from this place on."""

    def generate(context, builder, signature, arguments):
        return builder.gep(arguments[0], [arguments[1]])

    return table(table, types.int64), generate
