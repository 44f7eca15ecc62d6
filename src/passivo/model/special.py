"""Functions that SymPy lacks or that would turn complex; imported only when a model is derived."""

from __future__ import annotations

import sympy as sp


class cbrt(sp.Function):
    """The real cube root, odd in its argument."""

    @classmethod
    def eval(cls, x):  # pyright: ignore[reportIncompatibleMethodOverride]
        return sp.Integer(0) if x == 0 else None

    def fdiff(self, argindex=1):
        return 1 / (3 * self**2)

    def _eval_is_real(self):
        return True
