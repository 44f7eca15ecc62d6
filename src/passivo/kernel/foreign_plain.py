"""Calling C by address and looking at its memory, in plain Python: what `foreign.py` is to machine code."""

from __future__ import annotations

import ctypes

_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

_CALL_PAIR = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3, ctypes.c_int, ctypes.c_int, ctypes.c_double)


def call_two(function, first, second):
    """Call the C function `void f(void*, void*)` at an address."""
    _CALL(function)(first, second)


def call_pair(function, model, data, found, first, second, margin):
    """Call `int f(void*, void*, void*, int, int, double)` at an address."""
    return _CALL_PAIR(function)(model, data, found, first, second, margin)


def doubles_at(address):
    return ctypes.cast(int(address), ctypes.POINTER(ctypes.c_double))


def integers_at(address):
    return ctypes.cast(int(address), ctypes.POINTER(ctypes.c_int32))


def after(table, count):
    """A table from this place on."""
    return table[count:]
