"""What `pv.symbols` gives: names that write formulas. `k*q**2/2` becomes the text "k*q**2/2".

A description is text, so that a known model can be compiled without SymPy. In SymPy itself a `Formula` turns into a
SymPy expression by `_sympy_`: `sympy.diff(energy, q)` works, and SymPy expressions are welcome wherever formulas are.
"""

from __future__ import annotations

from typing import Any

COMPARE, ADD, MULTIPLY, NEGATE, POWER, ATOM = range(6)


class Formula:
    """A formula under construction: its text, and how tightly its outermost operation binds."""

    __slots__ = ("level", "text")
    __array_ufunc__ = None  # NumPy steps back and lets the operators below decide

    def __init__(self, text: str, level: int = ATOM):
        self.text = text
        self.level = level

    def __add__(self, other: Any) -> Formula:
        return _join(self, "+", other, ADD, ADD, MULTIPLY)

    def __radd__(self, other: Any) -> Formula:
        return _join(other, "+", self, ADD, ADD, MULTIPLY)

    def __sub__(self, other: Any) -> Formula:
        return _join(self, "-", other, ADD, ADD, MULTIPLY)

    def __rsub__(self, other: Any) -> Formula:
        return _join(other, "-", self, ADD, ADD, MULTIPLY)

    def __mul__(self, other: Any) -> Formula:
        return _join(self, "*", other, MULTIPLY, MULTIPLY, POWER)

    def __rmul__(self, other: Any) -> Formula:
        return _join(other, "*", self, MULTIPLY, MULTIPLY, POWER)

    def __truediv__(self, other: Any) -> Formula:
        return _join(self, "/", other, MULTIPLY, MULTIPLY, POWER)

    def __rtruediv__(self, other: Any) -> Formula:
        return _join(other, "/", self, MULTIPLY, MULTIPLY, POWER)

    def __pow__(self, other: Any) -> Formula:
        return _join(self, "**", other, POWER, ATOM, ATOM)

    def __rpow__(self, other: Any) -> Formula:
        return _join(other, "**", self, POWER, ATOM, ATOM)

    def __neg__(self) -> Formula:
        return Formula("-" + _inside(self, POWER), NEGATE)

    def __pos__(self) -> Formula:
        return self

    def __abs__(self) -> Formula:
        return Formula(f"Abs({self.text})")

    def __gt__(self, other: Any) -> Formula:
        return _join(self, ">", other, COMPARE, ADD, ADD)

    def __ge__(self, other: Any) -> Formula:
        return _join(self, ">=", other, COMPARE, ADD, ADD)

    def __lt__(self, other: Any) -> Formula:
        return _join(self, "<", other, COMPARE, ADD, ADD)

    def __le__(self, other: Any) -> Formula:
        return _join(self, "<=", other, COMPARE, ADD, ADD)

    def __and__(self, other: Any) -> Formula:
        return _join(self, "&", other, COMPARE, ATOM, ATOM)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int | float):
            raise TypeError(f"whether {self.text!r} equals {other} is not known yet: a formula cannot steer an if")
        return self.text == other.text if isinstance(other, Formula) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __bool__(self) -> bool:
        raise TypeError(
            f"whether {self.text!r} holds is not known yet: a formula cannot steer an if; use Max, Min, Abs or sign"
        )

    def __float__(self) -> float:
        raise TypeError(f"{self.text!r} is a formula, not a number; use pv.sin, pv.sqrt ... instead of math and numpy")

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__

    def _sympy_(self) -> Any:
        import sympy as sp

        from passivo.model.expression import evaluate, names, symbolic

        return evaluate(self.text, {name: sp.Symbol(name, real=True) for name in names(self.text)}, symbolic())


def _inside(value: Any, level: int) -> str:
    """The text of an operand, in brackets if it binds less tightly than `level`."""
    if isinstance(value, Formula):
        return f"({value.text})" if value.level < level else value.text
    from passivo.model.expression import to_text

    text = to_text(value)
    return f"({text})" if text.startswith("-") else text


def _join(left: Any, sign: str, right: Any, level: int, at_left: int, at_right: int) -> Any:
    if any(hasattr(side, "free_symbols") or isinstance(side, str) for side in (left, right)):
        return NotImplemented  # SymPy takes over; text must not slip in without its brackets
    return Formula(f"{_inside(left, at_left)} {sign} {_inside(right, at_right)}", level)
