"""`symbols` and the functions that may stand in a formula.

Each function works on numbers and arrays as well as on SymPy expressions, so that one `lambda t: pv.sin(t)`
can be traced into code, tabulated, or simply called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passivo.model.expression import FLOAT, FUNCTIONS, symbolic


def symbols(names: str) -> Any:
    """Real SymPy symbols: `q, p = pv.symbols("q p")`."""
    import sympy as sp

    return sp.symbols(names, real=True)


def _function(name: str) -> Callable:
    def call(*arguments):
        if any(hasattr(argument, "free_symbols") for argument in arguments):
            return symbolic().functions[name](*arguments)
        return FLOAT.functions[name](*arguments)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name} of numbers, arrays or SymPy expressions."
    return call


functions = {name: _function(name) for name in FUNCTIONS}
