"""Formulas. A formula is kept as checked text and is read by one whitelist parser over `ast`.

The same walk serves every arithmetic: SymPy symbols (to derive code), NumPy arrays (to check a model at
sampled states) and extended precision (to audit a run). Nothing is ever passed to `eval` or `sympify`.
"""

from __future__ import annotations

import ast
import math
import operator
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from passivo.errors import ExpressionError, nearest
from passivo.model.formula import Formula

MAX_LENGTH = 100_000
MAX_EXPONENT = 1000
MAX_DIGITS = 5000

_NUMPY: dict[str, Callable] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "cbrt": np.cbrt, "Abs": np.abs, "sign": np.sign,
    "Max": lambda *a: _fold(np.maximum, a), "Min": lambda *a: _fold(np.minimum, a),
}  # fmt: skip
FUNCTIONS = tuple(_NUMPY)
_ALIASES = {"abs": "Abs", "max": "Max", "min": "Min", "arctan": "atan", "arcsin": "asin", "arccos": "acos", "ln": "log"}
_ARGUMENTS = {"atan2": (2, 2), "Max": (1, 100), "Min": (1, 100)}
_CONSTANTS = {"pi": math.pi, "E": math.e}
RESERVED = frozenset(FUNCTIONS) | frozenset(_ALIASES) | frozenset(_CONSTANTS) | {"time", "total"}

_BINARY: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip
_COMPARE: dict[type, Callable] = {ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le}


def _fold(function, values):
    result = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


class Arithmetic:
    """What numbers, functions and powers mean while a formula is walked."""

    def __init__(
        self,
        number: Callable,
        functions: Mapping[str, Callable],
        constants: Mapping[str, Any],
        power: Callable = operator.pow,
    ):
        self.number = number
        self.functions = functions
        self.constants = constants
        self.power = power


# np.float64, not float: 1/0, 10**999 and (-1)**0.5 must be inf and nan, not an exception or a complex number
FLOAT = Arithmetic(np.float64, _NUMPY, _CONSTANTS)
EXTENDED = Arithmetic(np.longdouble, _NUMPY, {"pi": 4 * np.arctan(np.longdouble(1)), "E": np.exp(np.longdouble(1))})


@lru_cache(maxsize=1)
def symbolic() -> Arithmetic:
    """SymPy arithmetic; loading SymPy takes a third of a second, so it waits until a derivation needs it."""
    import sympy as sp

    from passivo.model.special import cbrt

    functions = {name: getattr(sp, name) for name in FUNCTIONS} | {"cbrt": cbrt}
    number = lambda v: sp.Integer(v) if isinstance(v, int) else sp.Float(v, 17)  # noqa: E731
    return Arithmetic(number, functions, {"pi": sp.pi, "E": sp.E}, _symbolic_power)


def _symbolic_power(base: Any, exponent: Any) -> Any:
    """base ** exponent, refused where SymPy would write out thousands of digits, as in 10**Abs(10**9)."""
    factor = base.as_coeff_Mul()[0]
    if exponent.is_Number:
        bits = max(factor.p.bit_length(), factor.q.bit_length()) if factor.is_Rational else 0
        if not abs(exponent) <= MAX_EXPONENT or abs(exponent) * bits * math.log10(2) > MAX_DIGITS:
            raise ExpressionError(
                f"the power {str(base)[:60]} ** {str(exponent)[:60]} is out of range: "
                f"exponents go up to {MAX_EXPONENT}, whole numbers up to {MAX_DIGITS} digits"
            )
    return base**exponent


@lru_cache(maxsize=4096)
def _tree(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"a formula of {len(text)} characters is too long; the limit is {MAX_LENGTH}")
    try:
        tree = ast.parse(f"({text.strip()}\n)", mode="eval").body
        _check(tree, text)
    except ExpressionError:
        raise
    except SyntaxError as error:
        raise ExpressionError(f"{text!r} is not a formula: {error.msg}; write it as in k*q**2/2") from None
    except (RecursionError, MemoryError, ValueError, OverflowError):
        raise ExpressionError(
            f"the formula {text[:60]!r}... is nested too deeply or holds a number out of range"
        ) from None
    return tree


def _check(node: ast.AST, text: str) -> None:
    match node:
        case ast.Constant(value=bool() | str() | bytes() | complex() | None):
            raise ExpressionError(f"{ast.unparse(node)} in {text!r} is not a real number")
        case ast.Constant(value=int() | float() as value) if math.isfinite(float(value)):
            pass
        case ast.Constant(value=int() | float()):
            raise ExpressionError(f"a number in {text!r} is out of range; the largest is 1.8e308")
        case ast.Name():
            pass
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check(operand, text)
        case ast.BinOp(op=ast.Pow(), left=left, right=right):
            _check(left, text)
            _check(right, text)
            size = _constant(right)
            if size is not None and not abs(size) <= MAX_EXPONENT:
                raise ExpressionError(f"the exponent {ast.unparse(right)} in {text!r} is beyond {MAX_EXPONENT}")
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), left=left, right=right):
            _check(left, text)
            _check(right, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            if _ALIASES.get(name, name) not in FUNCTIONS:
                raise ExpressionError(f"{name}() in {text!r} is not a known function; {nearest(name, FUNCTIONS)}")
            # NumPy would take a second argument of sin as the place to write the result to
            least, most = _ARGUMENTS.get(_ALIASES.get(name, name), (1, 1))
            if not least <= len(args) <= most:
                plural = "s" if least > 1 else ""
                raise ExpressionError(f"{name}() in {text!r} takes {least} argument{plural}, not {len(args)}")
            for argument in args:
                _check(argument, text)
        case ast.Compare(left=left, ops=ops, comparators=right) if all(type(op) in _COMPARE for op in ops):
            for side in (left, *right):
                _check(side, text)
        case ast.BoolOp(op=ast.And(), values=values):
            for value in values:
                _check(value, text)
        case ast.BinOp(op=ast.BitAnd(), left=left, right=right):
            _check(left, text)
            _check(right, text)
        case ast.BinOp(op=ast.BitXor()):
            raise ExpressionError(f"{ast.unparse(node)!r}: write ** for a power, as in q**2")
        case _:
            what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
            raise ExpressionError(
                f"{what!r} in {text!r} is not allowed in a formula: "
                f"only numbers, names, + - * / ** and {', '.join(FUNCTIONS)}"
            )


def _constant(node: ast.AST) -> Any:
    """The value of an exponent made of numbers alone, NaN or infinite if out of range; else None."""
    match node:
        case ast.Constant(value=value):
            return np.float64(value)  # pyright: ignore[reportArgumentType]
        case ast.UnaryOp(op=op, operand=operand):
            value = _constant(operand)
            return -value if value is not None and isinstance(op, ast.USub) else value
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            a, b = _constant(left), _constant(right)
            with np.errstate(all="ignore"):
                return None if a is None or b is None else _BINARY[type(op)](a, b)
    return None


def evaluate(text: str, values: Mapping[str, Any], arithmetic: Arithmetic = FLOAT) -> Any:
    """The value of a formula, with its names bound to `values`."""

    def walk(node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=value):
                return arithmetic.number(value)
            case ast.Name(id=name):
                if name in values:
                    return values[name]
                if name in arithmetic.constants:
                    return arithmetic.constants[name]
                raise ExpressionError(f"unknown name {name!r} in {text!r}; {nearest(name, values)}")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -walk(operand)
            case ast.UnaryOp(operand=operand):
                return walk(operand)
            case ast.BinOp(op=ast.BitAnd(), left=left, right=right):
                return walk(left) & walk(right)
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                return arithmetic.power(walk(left), walk(right))
            case ast.BinOp(op=op, left=left, right=right):
                return _BINARY[type(op)](walk(left), walk(right))
            case ast.Call(func=ast.Name(id=name), args=args):
                return arithmetic.functions[_ALIASES.get(name, name)](*map(walk, args))
            case ast.Compare(left=left, ops=ops, comparators=right):
                sides = [walk(left), *map(walk, right)]
                return _fold(operator.and_, [_COMPARE[type(op)](a, b) for op, a, b in zip(ops, sides, sides[1:])])
            case ast.BoolOp(values=parts):
                return _fold(operator.and_, [walk(part) for part in parts])
        raise ExpressionError(f"{text!r} is not a formula")

    tree = _tree(text)
    try:
        with np.errstate(all="ignore"):
            return walk(tree)
    except RecursionError:
        raise ExpressionError(f"the formula {text[:60]!r}... is nested too deeply") from None
    except TypeError as error:
        raise ExpressionError(f"{text!r} cannot be computed: {error}") from None


def names(text: str) -> set[str]:
    """The free names of a formula (functions and constants left out)."""
    tree = _tree(text)
    calls = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in calls}
    return found - set(_CONSTANTS)


def renamed(text: str, new: Mapping[str, str]) -> str:
    """The formula with its free names replaced as `new` says, all at once."""
    tree = ast.parse(ast.unparse(_tree(text)), mode="eval").body  # the tree itself is shared
    calls = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node not in calls:
            node.id = new.get(node.id, node.id)
    return ast.unparse(tree)


def is_condition(text: str) -> bool:
    """Whether a formula is a comparison (a domain) and not a number."""
    return any(isinstance(node, ast.Compare) for node in ast.walk(_tree(text)))


def is_sum(text: str) -> bool:
    """Whether a formula is a sum or difference, which needs brackets when negated."""
    tree = _tree(text)
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add | ast.Sub)


def to_text(value: Any) -> str:
    """The checked text of a formula given as text, number, `pv.symbols` or SymPy expression."""
    if isinstance(value, str | Formula):
        return ast.unparse(_tree(str(value)))
    if isinstance(value, bool) or value is None:
        raise ExpressionError(f"{value!r} is not a formula; give a number, a formula of pv.symbols or text")
    if isinstance(value, int | float | np.integer | np.floating):
        if not abs(value) <= sys.float_info.max:
            raise ExpressionError(f"{value} is not a finite number; the largest is 1.8e308")
        return repr(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
    if hasattr(value, "free_symbols"):
        return ast.unparse(_tree(_sympy_text(value)))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return to_text(value.item())
    raise ExpressionError(f"{value!r} is not a formula; give a number, a formula of pv.symbols or text")


def _sympy_text(expression: Any) -> str:
    from sympy import I, nan, oo, zoo
    from sympy.printing.str import StrPrinter

    class Printer(StrPrinter):
        def _print_Float(self, expr):
            return repr(float(expr))

    if hasattr(expression, "has") and expression.has(I):
        raise ExpressionError(f"{expression} is complex; energies and matrices must be real")
    if hasattr(expression, "has") and expression.has(nan, oo, -oo, zoo):
        raise ExpressionError(f"{expression} is not finite; check for a division by 0")
    return Printer().doprint(expression)
