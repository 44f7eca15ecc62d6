"""`symbols` and the functions that may stand in a formula.

Each function works on numbers, arrays and SymPy expressions as well as on symbols, so that one `lambda t: pv.sin(t)`
can be traced into a formula, tabulated, or simply called.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from passivo.errors import ModelError
from passivo.model.expression import FLOAT, FUNCTIONS, symbolic, to_text
from passivo.model.formula import Formula


def symbols(names: str) -> Any:
    """Symbols to write formulas with: `q, p = pv.symbols("q p")`; "x:3" stands for x0 x1 x2, one name gives one."""
    found: list[Formula] = []
    for word in re.split(r"[\s,]+", names.strip()):
        name, _, count = word.partition(":")
        if not name.isidentifier() or (count and not count.isdigit()):
            raise ModelError(f"{word!r} is not a name; write pv.symbols('q p k') or pv.symbols('x:3')")
        found += [Formula(f"{name}{i}") for i in range(int(count))] if count else [Formula(name)]
    return found[0] if len(found) == 1 and ":" not in names else tuple(found)


def _function(name: str) -> Callable:
    def call(*arguments):
        if any(hasattr(argument, "free_symbols") for argument in arguments):
            return symbolic().functions[name](*arguments)
        if any(isinstance(argument, Formula) for argument in arguments):
            parts = [a.text if isinstance(a, Formula) else to_text(a) for a in arguments]
            return Formula(f"{name}({', '.join(parts)})")
        return FLOAT.functions[name](*arguments)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name} of numbers, arrays, symbols or SymPy expressions."
    return call


functions = {name: _function(name) for name in FUNCTIONS}
